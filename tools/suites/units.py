"""The units: a test file of a suite, and the cases of it that count.

A unit is written SUITE:FILE[::SELECTION,...]. A selection names a class or a function, or two classes with ".." between
them, which means these two and all that the file defines between them.
"""
import dataclasses
import re

NAMED = """
theano:tensor/tests/test_sharedvar
theano:compile/tests/test_pfunc::Test_aliasing_rules
theano:compile/tests/test_function_module::T_function
theano:compile/tests/test_function
theano:tests/test_2nd_order_grads
theano:tensor/tests/test_subtensor::TestAdvancedSubtensor
theano:tensor/tests/test_inc_subtensor
theano:tensor/tests/test_shared_randomstreams
theano:tensor/tests/test_raw_random
theano:tensor/tests/test_sort
theano:tests/test_ifelse
theano:tensor/tests/test_casting
theano:tensor/tests/test_basic::test_tensordot,test_ptp,test_cov,T_mean,T_Join_and_Split,AbsTester..Log1pTester
keras:keras/constraints_test
keras:keras/losses_test
keras:keras/metrics_test
keras:keras/regularizers_test
keras:keras/test_sequential_model
keras:keras/layers/core_test
keras:keras/layers/embeddings_test
keras:keras/layers/merge_test
keras:keras/layers/recurrent_test
keras:keras/layers/convolutional_test
""".split()

OTHER = """
theano:tensor/tests/test_basic
theano:tensor/tests/test_subtensor
theano:tensor/tests/test_extra_ops
theano:tensor/tests/test_elemwise
theano:tensor/tests/test_keepdims
theano:tensor/tests/test_complex
theano:tensor/tests/test_var
theano:tensor/tests/test_misc
theano:tensor/tests/test_nlinalg
theano:tensor/tests/test_slinalg
theano:tensor/tests/test_xlogx
theano:tensor/tests/test_fft
theano:tensor/nnet/tests/test_sigm
theano:tensor/nnet/tests/test_nnet
theano:tensor/nnet/tests/test_neighbours
theano:tensor/nnet/tests/test_bn
theano:tensor/signal/tests/test_pool
theano:tensor/signal/tests/test_conv
theano:compile/tests/test_function_module
theano:compile/tests/test_pfunc
theano:compile/tests/test_shared
theano:compile/tests/test_builders
theano:compile/tests/test_function_name
theano:tests/test_gradient
theano:tests/test_rop
theano:tests/test_dictionary_output
theano:tests/test_updates
theano:tests/test_config
theano:tests/test_printing
theano:scan_module/tests/test_scan
theano:sandbox/tests/test_rng_mrg
keras:keras/activations_test
keras:keras/initializers_test
keras:keras/optimizers_test
keras:keras/backend/backend_test
keras:keras/engine/test_topology
keras:keras/engine/test_training
keras:keras/layers/advanced_activations_test
keras:keras/layers/convolutional_recurrent_test
keras:keras/layers/local_test
keras:keras/layers/noise_test
keras:keras/layers/normalization_test
keras:keras/layers/pooling_test
keras:keras/layers/wrappers_test
keras:keras/test_callbacks
keras:test_dynamic_trainability
keras:test_loss_masking
keras:test_loss_weighting
keras:test_model_pickling
keras:test_model_saving
""".split()

_ROOT = {"theano": "theano/", "keras": "tests/", "plain": ""}


@dataclasses.dataclass(frozen=True)
class Unit:
    suite: str
    stem: str
    selection: tuple

    @property
    def name(self):
        return f"{self.suite}:{self.stem}" + ("::" + ",".join(self.selection) if self.selection else "")

    @property
    def file(self):
        return f"{_ROOT[self.suite]}{self.stem}.py"

    def case_name(self, case):
        return f"{self.suite}:{self.stem}::{case}"

    def select(self, cases, source):
        """The names of `cases` (within the file) that the unit counts; `source` is the file's text, for the ranges."""
        if not self.selection:
            return list(cases)
        order = re.findall(r"^(?:class |def )?([A-Za-z_]\w*)\s*(?:\(|:|= *make|=)", source, re.MULTILINE)
        wanted = set()
        for part in self.selection:
            if ".." in part:
                first, last = part.split("..")
                wanted.update(order[order.index(first):order.index(last) + 1])
            else:
                wanted.add(part)
        return [case for case in cases if re.split(r"::|\[", case)[0] in wanted or case in wanted]


def parse(text):
    suite, _, rest = text.partition(":")
    if suite not in _ROOT or not rest:
        raise ValueError(f"{text!r} is no unit: SUITE:FILE[::SELECTION,...] with one of the suites {', '.join(_ROOT)}")
    stem, _, selection = rest.partition("::")
    return Unit(suite, stem.removesuffix(".py"), tuple(part for part in selection.split(",") if part))


def expand(words):
    """The units that the words of --units select: "named", "other", "all", or one unit each."""
    texts = []
    for word in words:
        texts += {"named": NAMED, "other": OTHER, "all": NAMED + OTHER}.get(word, [word])
    return [parse(text) for text in texts]
