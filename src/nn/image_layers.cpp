// Layers that change the size of images: padding, cropping, upsampling.
#include <croton/nn/layers.hpp>
#include <croton/nnet_layers.hpp>
#include <croton/ops.hpp>
#include <croton/views.hpp>

#include <fmt/format.h>

#include "nn/floats.hpp"
#include "nn/images.hpp"

namespace croton::nn {
namespace {

/// A layer that changes images at their margins, without computing any element.
class MarginLayer : public ImageLayer {
 public:
  MarginLayer(const std::string& type, int axes, const Margins& widths, Layout layout, const std::string& name)
      : ImageLayer(type, name, axes, layout), widths_(each(widths)) {}
  DType output_dtype(const std::vector<DType>& inputs) const override { return inputs[0]; }

 protected:
  std::vector<Margins::Pair> widths_;
};

class PaddingDefinition : public MarginLayer {
 public:
  using MarginLayer::MarginLayer;
  Shape output_shape(const std::vector<Shape>& inputs) const override {
    check_rank(inputs[0]);
    return with_sizes(inputs[0], inputs[0][channel_axis()],
                      [&](std::size_t j, std::int64_t n) { return widths_[j].first + n + widths_[j].second; });
  }
  Flow call(const std::vector<Flow>& inputs, CallContext&) override {
    const Variable& x = inputs[0].value;
    std::vector<std::pair<Operand, Operand>> all(x.type().rank(), {Operand(0), Operand(0)});
    for (std::size_t j = 0; j < widths_.size(); ++j)
      all[1 + first_size() + j] = {Operand(widths_[j].first), Operand(widths_[j].second)};
    return {pad(x, all)};
  }
};

class CroppingDefinition : public MarginLayer {
 public:
  using MarginLayer::MarginLayer;
  Shape output_shape(const std::vector<Shape>& inputs) const override {
    check_rank(inputs[0]);
    return with_sizes(inputs[0], inputs[0][channel_axis()], [&](std::size_t j, std::int64_t n) {
      const auto& [before, after] = widths_[j];
      if (n <= before + after)
        fail(fmt::format("{} and {} elements off {}: nothing is left", before, after, to_string(inputs[0])));
      return n - before - after;
    });
  }
  Flow call(const std::vector<Flow>& inputs, CallContext&) override {
    const Variable& x = inputs[0].value;
    std::vector<SliceSpec> index(1 + first_size(), slice());
    for (std::size_t j = 0; j < widths_.size(); ++j) {
      const auto& [before, after] = widths_[j];
      index.push_back(slice(Operand(before), after == 0 ? std::optional<Operand>() : Operand(-after)));
    }
    return {x.at(index)};
  }
};

class UpSamplingDefinition : public ImageLayer {
 public:
  UpSamplingDefinition(const std::string& type, int axes, const PerAxis& factors, Interpolation interpolation,
                       Layout layout, const std::string& name)
      : ImageLayer(type, name, axes, layout), factors_(each(factors, "factors")), interpolation_(interpolation) {}
  Shape output_shape(const std::vector<Shape>& inputs) const override {
    check_rank(inputs[0]);
    return with_sizes(inputs[0], inputs[0][channel_axis()],
                      [&](std::size_t j, std::int64_t n) { return n * factors_[j]; });
  }
  Flow call(const std::vector<Flow>& inputs, CallContext&) override {
    return {nnet::upsample(in_floats(inputs[0].value), factors_, interpolation_, layout_)};
  }

 private:
  Steps factors_;
  Interpolation interpolation_;
};

}  // namespace

ZeroPadding1D::ZeroPadding1D(const Margins& widths, Layout layout, const std::string& name, Where where)
    : Layer(make_layer_at<PaddingDefinition>(where, "ZeroPadding1D", 1, widths, layout, name)) {}
ZeroPadding2D::ZeroPadding2D(const Margins& widths, Layout layout, const std::string& name, Where where)
    : Layer(make_layer_at<PaddingDefinition>(where, "ZeroPadding2D", 2, widths, layout, name)) {}
ZeroPadding3D::ZeroPadding3D(const Margins& widths, Layout layout, const std::string& name, Where where)
    : Layer(make_layer_at<PaddingDefinition>(where, "ZeroPadding3D", 3, widths, layout, name)) {}
Cropping1D::Cropping1D(const Margins& widths, Layout layout, const std::string& name, Where where)
    : Layer(make_layer_at<CroppingDefinition>(where, "Cropping1D", 1, widths, layout, name)) {}
Cropping2D::Cropping2D(const Margins& widths, Layout layout, const std::string& name, Where where)
    : Layer(make_layer_at<CroppingDefinition>(where, "Cropping2D", 2, widths, layout, name)) {}
Cropping3D::Cropping3D(const Margins& widths, Layout layout, const std::string& name, Where where)
    : Layer(make_layer_at<CroppingDefinition>(where, "Cropping3D", 3, widths, layout, name)) {}
UpSampling1D::UpSampling1D(const PerAxis& factors, Interpolation interpolation, Layout layout, const std::string& name,
                           Where where)
    : Layer(make_layer_at<UpSamplingDefinition>(where, "UpSampling1D", 1, factors, interpolation, layout, name)) {}
UpSampling2D::UpSampling2D(const PerAxis& factors, Interpolation interpolation, Layout layout, const std::string& name,
                           Where where)
    : Layer(make_layer_at<UpSamplingDefinition>(where, "UpSampling2D", 2, factors, interpolation, layout, name)) {}
UpSampling3D::UpSampling3D(const PerAxis& factors, Interpolation interpolation, Layout layout, const std::string& name,
                           Where where)
    : Layer(make_layer_at<UpSamplingDefinition>(where, "UpSampling3D", 3, factors, interpolation, layout, name)) {}

}  // namespace croton::nn
