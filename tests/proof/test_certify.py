"""Certificates: tight for every compiled function, honest where they cannot be."""

import json
import signal
import threading
import time

import joblib
import numpy as np
import pytest
import sympy

import anchorhead
from anchorhead import Box, Certificate, certify, check
from anchorhead.errors import InputError, ShapeError, SizeError
from anchorhead.heads import relu
from anchorhead.reproduce.functions import FUNCTIONS, clustered, measured
from anchorhead.run import numpy as reference
from anchorhead.theorems import multi_head, one_layer_softmax, single_head, two_layers
from networks import relu_network

LINE = [f for f in FUNCTIONS if f.variables == 1]
PLANE = [f for f in FUNCTIONS if f.variables == 2]


def by_name(functions):
    return pytest.mark.parametrize("function", functions, ids=lambda f: f.name)


@pytest.fixture(scope="module")
def sine():
    return anchorhead.compile(lambda x: np.sin(3 * x), (-1, 1), 1e-9)


class TestTheTable:
    """Every row: a bound at most 1.1 times the error sampled, plus rounding."""

    @by_name(LINE)
    def test_of_one_variable_is_proven_within_a_tenth(self, function):
        network = anchorhead.compile(
            function.of, function.domain, function.error, dtype=function.dtype
        )
        made = network.certificate
        assert made.proven
        assert made.complete
        assert made.dtype == function.dtype
        sampled = measured(network, function)
        assert sampled <= made.bound <= 1.1 * sampled + 2 * made.rounding
        assert made.attained <= made.approximation <= 1.1 * made.attained
        assert check(made, network)

    @by_name(PLANE)
    def test_of_two_variables_is_proven_within_a_tenth(self, function):
        network = anchorhead.compile(function.of, function.domain, function.error)
        made = network.certificate
        assert made.complete
        assert measured(network, function) <= made.bound
        assert made.attained <= made.approximation <= 1.1 * made.attained
        assert made.bound <= 1.1 * measured(network, function) + 2 * made.rounding
        assert check(made, network)

    def test_a_bound_that_was_asked_for_is_proven_where_rounding_allows(self):
        for function in LINE:
            if function.name in ("√ abs x", "GELU run in float32"):
                continue  # what rounding may do at most is more than what it does
            network = anchorhead.compile(function.of, function.domain, function.error)
            assert network.certificate.bound <= function.error


class TestTheorems:
    """The bound that a theorem states for an instance is proven for it, in exact arithmetic."""

    @pytest.mark.parametrize("anchors", ["uniform", "graded"])
    def test_of_ramps(self, anchors):
        rng = np.random.default_rng(3)
        weights, offsets = rng.normal(size=(4, 2)), 0.3 * rng.normal(size=4)
        box = Box.cube(-1, 1, (4, 2))
        for made in (
            single_head(weights, offsets, -0.5, 0.5, anchors, count=12),
            multi_head(weights, offsets, -0.5, 0.5, 3, anchors=anchors),
        ):
            proof = certify(made.network, made.target, box)
            assert proof.proven
            assert proof.complete
            assert proof.approximation <= made.bound
            assert check(proof, made.network)

    @pytest.mark.parametrize(("anchors", "error"), [("uniform", 0.5), ("graded", 1e-6)])
    @pytest.mark.parametrize("theorem", [two_layers, one_layer_softmax])
    def test_of_networks(self, theorem, anchors, error):
        box = Box.cube(-1, 1, (2, 2))
        made = theorem(relu_network(2, 2, 6, seed=1), box, error, anchors=anchors)
        proof = certify(made.network, made.target, box)
        assert proof.complete
        assert proof.approximation <= made.bound
        assert check(proof, made.network)
        X = box.sample(2000, seed=5)
        assert np.abs(made.network(X) - made.target(X)).max() <= proof.bound

    def test_the_gates_own_bound(self):
        made = relu(1e-7)
        proof = certify(made.network, lambda x: np.maximum(x, 0), (-3, 2), tightness=1.0001)
        assert made.error <= proof.approximation <= made.bound


class TestTargets:
    def test_a_sympy_expression_a_numpy_function_and_one_of_balls_are_the_same(self, sine):
        x = sympy.Symbol("x")
        for target in (sympy.sin(3 * x), lambda x: np.sin(3 * x), lambda x: (3 * x).sin()):
            made = certify(sine, target, (-1, 1))
            assert made.proven
            assert made.target == "sin(3*x)"

    def test_variables_go_by_name(self):
        network = anchorhead.compile(lambda a, b: a - 2 * b, {"a": (0, 1), "b": (0, 2)}, 1e-9)
        a, b = sympy.symbols("a b")
        assert certify(network, a - 2 * b, {"a": (0, 1), "b": (0, 2)}).bound < 1e-9
        assert certify(network, b - 2 * a, {"b": (0, 1), "a": (0, 2)}).bound < 1e-9
        assert certify(network, b - 2 * a, {"a": (0, 1), "b": (0, 2)}).attained > 1

    def test_several_outputs(self):
        network = anchorhead.compile(lambda x: (np.sin(x), np.cos(x)), (0, 6), 1e-6)
        assert network.certificate.bound <= 1e-6
        swapped = certify(network, lambda x: (np.cos(x), np.sin(x)), (0, 6))
        assert 1.4 < swapped.attained <= swapped.bound < 1.5

    @pytest.mark.parametrize("form", ["sequence", "heads"])
    def test_every_form_is_proven(self, form):
        network = anchorhead.compile(np.tanh, (-2, 2), 1e-6, form=form)
        assert network.certificate.approximation <= 1e-6
        assert check(network.certificate, network)

    @pytest.mark.parametrize(
        "target",
        [
            lambda x, y: np.maximum(x, y),
            lambda x, y: np.abs(0.3 * x + 0.7 * y - 0.1),
            lambda x, y: np.sin(2 * x) + np.abs(y - 0.25),
            lambda x, y: np.exp(-(x**2)) * y,
        ],
    )
    def test_planes_ridges_sums_and_products(self, target):
        domain = [(-1, 1), (0, 3)]
        network = anchorhead.compile(target, domain, 1e-5)
        made = network.certificate
        assert made.bound <= 1.05e-5
        X = np.random.default_rng(0).uniform([-1, 0], [1, 3], (20_000, 2))
        assert np.abs(network(X)[:, 0] - target(*X.T)).max() <= made.bound

    @pytest.mark.parametrize(
        ("target", "why"),
        [
            (lambda x: np.sin(3 * x) if np.all(x < 9) else x, "branches"),
            (np.vectorize(lambda x: float(np.sin(3 * x))), "number"),
        ],
    )
    def test_a_black_box_is_sampled_and_never_called_proven(self, sine, target, why):
        made = certify(sine, target, (-1, 1))
        assert made.kind == "sampled"
        assert not made.proven
        assert made.bound is made.approximation is made.rounding is None
        assert why in made.statement
        assert "65536" in made.statement
        assert "0.999" in made.statement
        verdict = check(made, sine)
        assert not verdict
        assert "nothing is proven" in verdict.reason

    def test_what_compile_cannot_prove_has_no_certificate(self):
        def target(x):
            return np.array([np.sin(float(v)) for v in x])

        assert anchorhead.compile(target, (-1, 1), 1e-4).certificate is None
        assert anchorhead.compile(np.sin, (-1, 1), 1e-4, prove=False).certificate is None


class TestRefusals:
    @pytest.mark.parametrize(
        ("target", "domain", "where", "what"),
        [
            ("1/x", (-1, 1), "x = 4", "1/(x)"),
            ("log(x)", (-1, 1), "x = ", "log(x)"),
            ("sqrt(x)", (-1, 1), "x = -", "sqrt(x)"),
            ("tan(x)", (0, 3), "x = 1.570", "tan(x)"),
            ("gamma(x)", (-0.5, 1), "x = ", "gamma(x)"),
            ("asin(2*x)", (-1, 1), "x = ", "asin(2 * x)"),
            ("1/(x - y)", [(0, 1), (0, 1)], "y = ", "x - y"),
        ],
    )
    def test_poles_and_gaps_are_refused_by_name(self, target, domain, where, what):
        several = isinstance(domain, list)
        network = anchorhead.compile(
            (lambda x, y: x + y) if several else np.sin, domain, 1e-3, prove=False
        )
        with pytest.raises(InputError) as told:
            certify(network, sympy.sympify(target), domain)
        assert "undefined" in str(told.value)
        assert where in str(told.value)
        assert what in str(told.value)

    @pytest.mark.parametrize(
        "domain",
        [(1, -1), (1, 1), (-1, np.inf), (np.nan, 1), [], (-1e300, 1e300), Box.cube(0, 1, (3, 2))],
    )
    def test_domains_that_are_none(self, sine, domain):
        with pytest.raises(InputError, match=r"domain|low|X"):
            certify(sine, lambda x: np.sin(3 * x), domain)

    @pytest.mark.parametrize(
        ("options", "named"),
        [
            ({"tightness": 1.0}, "tightness"),
            ({"tightness": np.nan}, "tightness"),
            ({"budget": 0}, "budget"),
            ({"dtype": "float16"}, "dtype"),
            ({"progress": 3}, "progress"),
        ],
    )
    def test_options_that_cannot_be(self, sine, options, named):
        with pytest.raises(InputError, match=named):
            certify(sine, np.sin, (-1, 1), **options)

    def test_targets_that_do_not_fit(self, sine):
        x, y = sympy.symbols("x y")
        for target in (x + y, lambda x, y: x * y, lambda x: (x, x), "sin(x)", 3):
            with pytest.raises(InputError, match=r"target|domain"):
                certify(sine, target, (-1, 1))
        with pytest.raises(ShapeError):
            certify(sine, lambda x, y: x * y, [(0, 1), (0, 1)])

    def test_what_is_defined_up_to_the_end_is_proven(self):
        network = anchorhead.compile(np.sqrt, (0, 1), 1e-3)
        assert network.certificate.bound <= 1e-3
        arc = anchorhead.compile(np.arcsin, (-1, 1), 1e-2)
        assert arc.certificate.bound <= 1.01e-2


class TestEffort:
    def test_a_proof_stopped_at_its_budget_says_so_and_holds(self, sine):
        made = certify(sine, lambda x: np.sin(3 * x), (-1, 1), budget=4)
        assert not made.complete
        assert "incomplete" in made.statement
        full = certify(sine, lambda x: np.sin(3 * x), (-1, 1))
        assert full.complete
        assert full.bound < made.bound
        verdict = check(made, sine)
        assert verdict
        assert "stopped" in verdict.reason

    def test_a_greater_budget_never_gives_a_worse_bound(self, sine):
        bounds = [
            certify(sine, lambda x: np.sin(3 * x), (-1, 1), budget=b).bound for b in (2, 8, 20, 60)
        ]
        assert bounds == sorted(bounds, reverse=True)

    def test_tightness_is_what_it_says(self, sine):
        for tightness in (3.0, 1.1, 1.01, 1.001):
            made = certify(sine, lambda x: np.sin(3 * x), (-1, 1), tightness=tightness)
            assert made.attained <= made.approximation <= tightness * made.attained

    def test_progress_is_told(self, sine):
        told = []
        certify(sine, lambda x: np.sin(3 * x), (-1, 1), progress=told.append)
        assert told[-1].open == 0
        assert told[-1].done > 3
        assert told[-1].attained <= told[-1].bound <= 1.1 * told[-1].attained
        assert told[-1].seconds > 0

    def test_ctrl_c_returns_the_bound_reached(self, sine):
        def hard(x):
            return np.sin(3 * x) + 1e-4 * np.sin(5e4 * x)

        def interrupt(progress):
            if not sent and progress.done + progress.open > 20:
                sent.append(progress)
                signal.raise_signal(signal.SIGINT)

        sent = []
        made = certify(sine, hard, (-1, 1), progress=interrupt)
        assert sent
        assert not made.complete
        assert check(made, sine)
        X = np.random.default_rng(0).uniform(-1, 1, (100_000, 1))
        assert np.abs(sine(X)[:, 0] - hard(X[:, 0])).max() <= made.bound

    def test_interrupted_at_any_moment_it_still_holds(self, sine):
        def hard(x):
            return np.sin(3 * x) + 1e-4 * np.sin(2e3 * x)

        for delay in (0.01, 0.05, 0.12):
            timer = threading.Timer(delay, signal.raise_signal, [signal.SIGINT])
            timer.start()
            try:
                made = certify(sine, hard, (-1, 1))
            except KeyboardInterrupt:
                continue  # before or after the search: nothing was lost
            finally:
                timer.cancel()
                timer.join()
            assert check(made, sine)


class TestParallel:
    def hard(self):
        def target(x, y):
            return np.exp(-(x**2) - y**2) * np.sin(3 * x + y)

        domain = [(-1, 1), (-1, 1)]
        return anchorhead.compile(target, domain, 1e-4, prove=False), target, domain

    def test_workers_of_any_kind_prove_the_same(self):
        problem = self.hard()
        alone = certify(*problem)
        for backend in ("loky", "threading"):
            with joblib.parallel_config(backend=backend, n_jobs=2):
                shared = certify(*problem)
            assert shared.complete
            assert shared.approximation <= 1.1 * shared.attained
            assert shared.attained <= alone.approximation
            assert check(shared, problem[0])

    @pytest.mark.filterwarnings("ignore")
    def test_a_dask_cluster(self):
        from distributed import Client, LocalCluster

        problem = self.hard()
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
            joblib.parallel_config(backend="dask"),
        ):
            shared = certify(*problem)
            done = client.run(lambda dask_worker: dask_worker.state.log and True)
        assert len(done) == 2
        assert shared.complete
        assert check(shared, problem[0])


class TestTheCertificate:
    def test_it_is_a_readable_text_and_nothing_else(self, sine):
        made = sine.certificate
        again = Certificate(made.text)
        assert again == made
        assert check(again, sine)
        assert check(made.text, sine)
        record = json.loads(made.text)
        assert record["target"]["outputs"] == ["sin(3*x)"]
        assert record["domain"] == {"low": [-1.0], "high": [1.0]}
        assert record["kind"] == "proven"
        assert set(record["versions"]) == {"anchorhead", "numpy", "python", "python-flint"}
        assert made.cells == sum(tree.count(".") for p in record["parts"] for tree in p["cells"])
        assert made.bound >= made.approximation + made.rounding

    def test_it_cannot_be_changed(self, sine):
        with pytest.raises(AttributeError):
            sine.certificate.text = ""
        with pytest.raises(AttributeError):
            sine.certificate.bound = 0.0
        sine.certificate.record["bound"] = 0.0
        assert sine.certificate.bound > 0

    @pytest.mark.parametrize("text", ["", "{}", "[]", "nonsense", '{"format": 3}', "[" * 10_000])
    def test_what_is_none_is_refused(self, text):
        with pytest.raises(InputError, match="text"):
            Certificate(text)

    def test_it_is_saved_with_the_network(self, sine, tmp_path):
        sine.save(tmp_path / "sine")
        again = anchorhead.load(tmp_path / "sine")
        assert again.certificate == sine.certificate
        assert check(again.certificate, again)

    def test_the_statement_never_says_less_than_the_bound(self, sine):
        said = float(sine.certificate.statement.split("≤ ")[1].split(" ")[0])
        assert sine.certificate.bound <= said <= 1.001 * sine.certificate.bound


class TestRounding:
    @by_name([f for f in LINE if f.dtype == "float64"][:6])
    def test_running_in_float32_stays_within_its_bound(self, function):
        network = anchorhead.compile(function.of, function.domain, 1e-4)
        made = certify(network, function.of, function.domain, dtype="float32")
        X = clustered(function, seed=2).astype(np.float32)
        exact = function.of(X[:, 0].astype(float))
        error = np.abs(reference.evaluate(network, X)[:, 0].astype(float) - exact)
        assert error.max() <= made.bound

    def test_a_network_that_float32_cannot_hold_gets_no_small_bound(self):
        network = anchorhead.compile(np.abs, (-1, 1), 1e-12)
        assert certify(network, np.abs, (-1, 1), dtype="float32").rounding > 1e-8


def test_a_budget_that_leaves_no_finite_bound_is_an_error():
    network = anchorhead.compile(np.sin, (-1, 1), 1e-3)
    x = sympy.Symbol("x")
    target = 1 / (x**2 - x + 1)
    with pytest.raises(SizeError, match="budget"):
        certify(network, target, (-1, 1), budget=1)


def test_proofs_take_no_longer_than_they_may():
    """0.2 s for a smooth function of one variable, 2 s with kinks: in units of this machine's speed."""
    for function in LINE:
        network = anchorhead.compile(function.of, function.domain, function.error, prove=False)
        spent = []
        for _ in range(3):
            start = time.process_time()
            certify(network, function.of, function.domain, dtype=function.dtype)
            spent.append(time.process_time() - start)
        assert min(spent) < (2.0 if function.kinks else 0.5)


@pytest.mark.parametrize(
    ("target", "domain"),
    [
        (lambda x, y: x + np.sin(y), [(-1, 1), (0, 2)]),
        (lambda x, y: 0.3 * x + np.sqrt(y), [(0, 1), (0.1, 1)]),
        (lambda x, y, z: x + y + np.sin(z), [(-1, 1), (-1, 1), (0, 2)]),
        (lambda x, y: (x + np.sin(y), x - y), [(-1, 1), (0, 2)]),
    ],
)
def test_a_plane_that_is_added_costs_nothing(target, domain):
    """What is left of x after rounding, 1e-14 x, must not tear what depends on y apart."""
    network = anchorhead.compile(target, domain, 1e-2)
    assert network.certificate.bound <= 1e-2
    assert check(network.certificate, network)


class TestHonesty:
    def test_a_function_of_all_its_points_is_no_formula(self, sine):
        for target in (lambda x: x - np.mean(x), lambda x: np.sin(3 * x) * len(x)):
            with pytest.raises(InputError, match="other points"):
                certify(sine, target, (-1, 1))

    def test_names_are_bound_to_the_arguments_of_that_name(self):
        def target(y, x=0.0):
            return 3 * x + np.sin(y)

        network = anchorhead.compile(target, {"x": (-1, 1), "y": (0, 2)}, 1e-2)
        assert abs(network([[0.5, 1.5]])[0, 0] - target(1.5, 0.5)) <= network.certificate.bound
        assert network.certificate.target == "3*x + sin(y)"
        with pytest.raises(InputError, match=r"names q, y .* takes x, y"):
            certify(network, target, {"q": (-1, 1), "y": (0, 2)})

    def test_a_dtype_that_overflows_is_named(self):
        scaled = [
            anchorhead.Linear((None, 1), (None, 1), (anchorhead.Term(features=np.array([[c]])),))
            for c in (2.0**100, 2.0**-100)
        ]
        with pytest.raises(InputError, match="float32"):
            certify(anchorhead.Network(tuple(scaled)), lambda x: x, (0, 2.0**30), dtype="float32")
