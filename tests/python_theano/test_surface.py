"""Every name of Theano's API that programs use, sorted by the number of programs (tiers 1 to 3), exists; names that
only refer to an alternative are counted."""

import importlib

import pytest

import croton.theano as theano
from croton.theano import modules

TIER_1 = """config function shared grad:tensor.grad tensor.dot tensor.nnet.sigmoid tensor.tanh tensor.exp tensor.log tensor.sqrt
tensor.sqr tensor.nnet.softmax tensor.nnet.categorical_crossentropy tensor.matrix tensor.vector tensor.scalar tensor.tensor3
tensor.tensor4 tensor.ivector tensor.lscalar tensor.imatrix tensor.fmatrix tensor.dmatrix tensor.ftensor4 tensor.mean tensor.sum
tensor.prod tensor.argmax tensor.maximum tensor.cast tensor.arange tensor.eq tensor.neq tensor.switch tensor.clip tensor.alloc
tensor.zeros tensor.ones_like tensor.reshape tensor.flatten tensor.stack tensor.round tensor.set_subtensor tensor.add scan
sandbox.rng_mrg.MRG_RandomStreams tensor.shared_randomstreams.RandomStreams tensor.nnet.conv2d tensor.nnet.conv.conv2d
tensor.signal.pool.pool_2d tensor.signal.downsample.max_pool_2d In Param compile.mode.get_default_mode tensor.xlogx.xlogy0
gpuarray.shared_constructor gpuarray.change_flags gpuarray.use sandbox.cuda.use""".split()

TIER_2 = """tensor.concatenate tensor.zeros_like tensor.ones tensor.as_tensor_variable tensor.constant tensor.max tensor.min
tensor.minimum tensor.ge tensor.gt tensor.lt tensor.le tensor.all tensor.any tensor.nnet.softplus tensor.nnet.binary_crossentropy
tensor.nnet.relu tensor.nnet.hard_sigmoid tensor.nnet.elu tensor.nnet.softsign tensor.TensorType tensor.TensorVariable Variable
compile.SharedVariable tensor.sharedvar.TensorSharedVariable tensor.TensorConstant tensor.repeat tensor.tile tensor.abs_ tensor.sgn
tensor.square tensor.inv tensor.pow tensor.ceil tensor.floor tensor.sin tensor.cos tensor.expm1 tensor.mod tensor.mul
tensor.inc_subtensor tensor.tensordot tensor.batched_dot tensor.batched_tensordot tensor.transpose tensor.shape_padleft
tensor.shape_padright tensor.shape_padaxis tensor.patternbroadcast tensor.addbroadcast tensor.unbroadcast tensor.eye tensor.squeeze
tensor.argsort tensor.sort tensor.argmin tensor.cumsum tensor.cumprod tensor.var tensor.std tensor.isnan
tensor.extra_ops.to_one_hot tensor.matrices tensor.vectors tensor.iscalar clone ifelse.ifelse map foldl foldr gradient.grad_clip
gradient.disconnected_grad tensor.signal.pool.pool_3d tensor.nnet.conv3d tensor.signal.conv.conv2d
tensor.nnet.abstract_conv.AbstractConv2d_gradInputs tensor.nnet.conv2d_transpose tensor.nnet.batch_normalization
tensor.nnet.bn.batch_normalization_train tensor.nnet.bn.batch_normalization_test tensor.nnet.abstract_conv.bilinear_upsampling
scan_module.scan_utils.equal_computations printing.Print sparse.SparseType""".split()

TIER_3 = """config.compute_test_value tensor.as_tensor tensor.sharedvar.SharedVariable tensor.nnet tensor.lvector Constant tensor.isinf
tensor.dvector tensor.lmatrix _asarray Mode tensor.Tensor tensor.grad_not_implemented tensor.identity_like tensor.fvector dot
sparse.dense_from_sparse scan_module.until compile.sharedvalue.SharedVariable printing.debugprint tensor.shape tensor.join Rop
tensor.signal.pool tensor.verify_grad sparse.csr_matrix config.change_flags tensor.log1p change_flags tensor.diag
printing.var_descriptor sparse.SparseVariable tensor.discrete_dtypes tensor.power compile.mode.get_mode tensor.bitwise_or
tensor.nlinalg.diag tensor.dscalar tensor.outer tensor.slinalg.Solve sparse.structured_dot tensor.gammaln tensor.nlinalg.det
tensor.float_dtypes tensor.erfcx tensor.erfc tensor.fscalar tensor.DisconnectedType config.on_unused_input tensor.jacobian
tensor.slinalg.cholesky tensor.nlinalg.matrix_inverse tensor.erf tensor.slinalg.Cholesky gradient.NullTypeGradError
tensor.nlinalg.eigh compile.ops.as_op tensor.slinalg.kron scan_module.scan_utils.until tensor.bitwise_and sparse.enable_sparse
tensor.and_ tensor.slinalg.solve_lower_triangular tensor.i0 tensor.fill tensor.xlogx.xlogx sparse.csr_from_dense tensor.erfcinv
tensor.get_scalar_constant_value printing.min_informative_str sparse tensor.allclose tensor.i1 tensor.sub tensor.nlinalg.trace
tensor.wmatrix tensor.nnet.bn tensor.or_ tensor.iround sparse.CSR tensor.arctan sparse.CSM
tensor.slinalg.solve_upper_triangular tensor.isclose tensor.gammaincc tensor.arcsin tensor.arccos tensor.arctan2 tensor.sinh
tensor.cosh tensor.arcsinh tensor.arccosh tensor.arctanh tensor.log2 tensor.log10 tensor.exp2 tensor.deg2rad tensor.rad2deg
tensor.trunc tensor.gamma tensor.psi tensor.tri_gamma tensor.erfinv tensor.j0 tensor.j1 tensor.jv tensor.iv tensor.chi2sf tensor.conj
tensor.real tensor.imag tensor.complex_from_polar tensor.split tensor.ptp tensor.cov tensor.choose tensor.mgrid tensor.ogrid
tensor.inverse_permutation tensor.permute_row_elements tensor.nonzero tensor.tri tensor.tril tensor.triu tensor.bincount
tensor.extra_ops.Unique tensor.searchsorted tensor.diff tensor.fill_diagonal tensor.ravel_multi_index tensor.unravel_index
tensor.topk tensor.fft.rfft tensor.fft.irfft tensor.nnet.neighbours.images2neibs tensor.nnet.neighbours.neibs2images
tensor.hessian Lop OpFromGraph tensor.nlinalg.svd tensor.nlinalg.qr tensor.nlinalg.pinv tensor.nlinalg.eig tensor.nlinalg.norm
tensor.nlinalg.lstsq tensor.nlinalg.tensorinv tensor.nlinalg.tensorsolve tensor.nlinalg.matrix_power tensor.nlinalg.matrix_dot
tensor.slinalg.expm tensor.slinalg.eigvalsh""".split()

TIER_4 = """gof.Variable gof.graph.inputs gof.graph.ancestors gof.graph.is_same_graph gof.Op gof.Apply gof.utils.MethodNotDefined
compat.six.string_types compat.six.iteritems compat.six.xrange compat.six.cPickle sandbox.cuda.cuda_available
sandbox.cuda.cuda_enabled sandbox.cuda.dnn.dnn_available sandbox.cuda.basic_ops.gpu_contiguous tests.unittest_tools.verify_grad
tests.unittest_tools.seed_rng tests.unittest_tools.fetch_seed tests.unittest_tools.assert_allclose
tests.unittest_tools.InferShapeTester tests.unittest_tools.attr tests.unittest_tools.SkipTest tensor.opt.Assert
tensor.elemwise.Elemwise scalar.upcast misc.pkl_utils.dump""".split()

def find(name):
    """The object with this name; of "function:module.path" the second part. AttributeError or ImportError."""
    name = name.rpartition(":")[2]
    parts, thing = name.split("."), theano
    for i, part in enumerate(parts):
        if not hasattr(thing, part):
            importlib.import_module(f"croton.theano.{'.'.join(parts[:i + 1])}")
        thing = getattr(thing, part)
    return thing


@pytest.mark.parametrize("name", TIER_1 + TIER_2 + TIER_3 + TIER_4)
def test_the_name_is_there(name):
    assert find(name) is not None


def test_how_many_names_are_not_more_than_names():
    tiers = TIER_1 + TIER_2 + TIER_3
    stand_ins = {name for name in tiers if modules.is_absent(find(name))}
    assert stand_ins == {"sparse.dense_from_sparse", "sparse.csr_matrix", "sparse.structured_dot", "sparse.csr_from_dense",
                         "sparse.CSR", "sparse.CSM"}


def test_what_is_not_there_says_what_is_nearest():
    message = "sparse.csr_matrix does not exist in Croton; the nearest is dense arrays"
    with pytest.raises(NotImplementedError, match=message):
        theano.sparse.csr_matrix("x")


def test_modules_import_by_either_name():
    theano.install()
    for name in ("tensor.nnet", "tensor.signal.downsample", "sandbox.rng_mrg", "tensor.shared_randomstreams", "ifelse", "printing",
                 "gradient", "compile", "configparser", "tensor.nnet.conv", "compile.function_module", "gof.graph"):
        assert importlib.import_module(f"theano.{name}") is importlib.import_module(f"croton.theano.{name}")
    with pytest.raises(ImportError):
        importlib.import_module("theano.no_such_module")
