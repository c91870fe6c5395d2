"""A network run by its definition with any numbers: exactly, or rounded with sums in any order."""

import numpy as np
from flint import arb, ctx

BITS = 200


class Exactly:
    """Balls of BITS bits, as entries of arrays."""

    number = staticmethod(np.frompyfunc(lambda x: arb(float(x)), 1, 1))
    exp = staticmethod(np.frompyfunc(lambda x: x.exp(), 1, 1))
    times = staticmethod(lambda A, B: A * B)
    total = staticmethod(lambda terms: terms.sum(axis=-1))
    over = staticmethod(lambda A, B: A / B)

    @staticmethod
    def relative(scores):
        """Scores less the largest, or nearly the largest."""
        rough = np.frompyfunc(lambda s: float(s.mid()), 1, 1)(scores).astype(float)
        top = np.take_along_axis(scores, rough.argmax(axis=-1)[..., None], axis=-1)
        return scores - top


class Rounded:
    """Floats, each operation rounded; every sum is taken in an order of its own.

    With ``flush`` numbers below the normal range are 0, those that enter as well as those that result.
    """

    def __init__(self, dtype, rng, flush=False):
        self.dtype, self.rng, self.flush = np.dtype(dtype), rng, flush

    def kept(self, A):
        return np.where(np.abs(A) < np.finfo(self.dtype).tiny, 0 * A, A) if self.flush else A

    def number(self, A):
        return self.kept(np.asarray(A).astype(self.dtype))

    def exp(self, A):
        return self.kept(np.exp(A))

    def times(self, A, B):
        return self.kept(A * B)

    def over(self, A, B):
        return self.kept(A / B)

    def relative(self, scores):
        return self.kept(scores - scores.max(axis=-1, keepdims=True))

    def total(self, terms):
        """Numbers are added one after the other, or in pairs, or as drawn."""
        terms = terms[..., self.rng.permutation(terms.shape[-1])]
        how = self.rng.integers(3)
        while terms.shape[-1] > 1:
            n = terms.shape[-1]
            count = {0: 1, 1: n // 2, 2: int(self.rng.integers(1, n // 2 + 1))}[int(how)]
            sums = self.kept(terms[..., :count] + terms[..., count : 2 * count])
            terms = np.concatenate([sums, terms[..., 2 * count :]], axis=-1)
            if how == 2:
                terms = terms[..., self.rng.permutation(terms.shape[-1])]
        return terms[..., 0] if terms.shape[-1] else np.zeros(terms.shape[:-1], self.dtype)


def product(A, B, of):
    """A B, for A of … × n × k and B of … × k × m."""
    return of.total(of.times(A[..., :, None, :], np.swapaxes(B, -1, -2)[..., None, :, :]))


def run(network, X, of):
    """The output for arrays X of floats (points × tokens × features)."""
    before = ctx.prec
    ctx.prec = BITS
    try:
        with np.errstate(all="ignore"):
            Z = of.number(X)
            for layer in network.layers:
                Z = LAYERS[type(layer).__name__](layer, Z, of)
            return Z
    finally:
        ctx.prec = before


def _linear(layer, Z, of):
    rows = layer.shape_out[0] or Z.shape[1]
    shape = (len(Z), rows, layer.shape_out[1])
    images = [of.number(np.zeros(shape))]
    if layer.constant is not None:
        images.append(np.broadcast_to(of.number(layer.constant), shape))
    for term in layer.terms:
        T = Z if term.scale is None else of.times(Z, of.number(term.scale))
        T = T if term.features is None else product(T, of.number(term.features), of)
        T = T if term.tokens is None else product(of.number(term.tokens), T, of)
        image = of.number(np.zeros(shape))
        image[:, : min(rows, T.shape[1])] = T[:, :rows]
        images.append(image)
    return of.total(np.stack(images, axis=-1))


def _attention(layer, Z, of):
    kept = Z[:, : layer.keep or Z.shape[1]]
    images = [kept] if layer.residual else []
    for head in layer.heads:
        Q = product(kept, of.number(head.query), of)
        K = V = None
        if head.sees != "anchors":
            K = product(Z, of.number(head.key), of)
            V = Z if head.value is None else product(Z, of.number(head.value), of)
        rows = []
        for i in range(Q.shape[1]):
            keys, values = [], []
            if K is not None:
                seen = [i] if head.sees == "self" else range(i + 1 if head.causal else K.shape[1])
                keys.append(K[:, list(seen)])
                values.append(V[:, list(seen)])
            if head.anchor_keys is not None:
                for into, array in ((keys, head.anchor_keys), (values, head.anchor_values)):
                    into.append(np.broadcast_to(of.number(array), (len(Z), *array.shape)))
            scores = of.total(of.times(Q[:, i, None], np.concatenate(keys, axis=1)))
            weights = softmax(scores, of)
            rows.append(product(weights[:, None], np.concatenate(values, axis=1), of)[:, 0])
        mixed = np.stack(rows, axis=1)
        images.append(mixed if head.output is None else product(mixed, of.number(head.output), of))
    return of.total(np.stack(images, axis=-1))


def softmax(scores, of):
    weights = of.exp(of.relative(scores))
    return of.over(weights, of.total(weights)[..., None])


LAYERS = {
    "Linear": _linear,
    "Attention": _attention,
    "Softmax": lambda layer, Z, of: softmax(Z, of),
}
