// Everything of Croton: symbolic tensor expressions, compiled.
#pragma once

#include <croton/array.hpp>
#include <croton/config.hpp>
#include <croton/device.hpp>
#include <croton/error.hpp>
#include <croton/function.hpp>
#include <croton/grad.hpp>
#include <croton/io.hpp>
#include <croton/nnet.hpp>
#include <croton/ops.hpp>
#include <croton/products.hpp>
#include <croton/shared.hpp>
#include <croton/type.hpp>
#include <croton/variable.hpp>
