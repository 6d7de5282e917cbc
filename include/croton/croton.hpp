// Everything of Croton: symbolic tensor expressions, compiled.
#pragma once

#include <croton/activations.hpp>
#include <croton/array.hpp>
#include <croton/complex.hpp>
#include <croton/config.hpp>
#include <croton/device.hpp>
#include <croton/elementwise.hpp>
#include <croton/error.hpp>
#include <croton/function.hpp>
#include <croton/grad.hpp>
#include <croton/ifelse.hpp>
#include <croton/indexing.hpp>
#include <croton/io.hpp>
#include <croton/losses.hpp>
#include <croton/nnet.hpp>
#include <croton/op.hpp>
#include <croton/ops.hpp>
#include <croton/products.hpp>
#include <croton/random.hpp>
#include <croton/scan.hpp>
#include <croton/shared.hpp>
#include <croton/sorting.hpp>
#include <croton/type.hpp>
#include <croton/variable.hpp>
#include <croton/verification.hpp>
#include <croton/views.hpp>
