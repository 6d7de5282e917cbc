// Batching rules of views, generators, reads and writes at positions: the op for inputs with one more first axis
// (builder/batch.hpp). Those at positions are in batch_positions.cpp, the others in batch_rules.cpp.
#pragma once

#include "builder/batch.hpp"

namespace croton::ops {

builder::Batched batch_dimshuffle(const builder::BatchContext& context);
builder::Batched batch_reshape(const builder::BatchContext& context);
builder::Batched batch_alloc(const builder::BatchContext& context);
builder::Batched batch_subtensor(const builder::BatchContext& context);
builder::Batched batch_subtensor_grad(const builder::BatchContext& context);
builder::Batched batch_set_subtensor(const builder::BatchContext& context);
builder::Batched batch_specify_shape(const builder::BatchContext& context);
builder::Batched batch_gather(const builder::BatchContext& context);
builder::Batched batch_pick(const builder::BatchContext& context);
builder::Batched batch_scatter(const builder::BatchContext& context);
builder::Batched batch_shape_of(const builder::BatchContext& context);
builder::Batched batch_arange(const builder::BatchContext& context);
builder::Batched batch_checked_index(const builder::BatchContext& context);

}  // namespace croton::ops
