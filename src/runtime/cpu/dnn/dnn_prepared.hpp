// A convolution as it runs: the problem cut into pieces, a primitive of the library for each kind of piece, copies into
// the order that the library wants, and the memory for them.
//
// Filters are copied into the library's order once a run, images and results piece by piece. Each piece of a gradient
// by filters has a sum of its own; the sums are added in the order of the pieces.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cpu/dnn/dnn_copy.hpp"
#include "runtime/cpu/dnn/dnn_library.hpp"
#include "runtime/cpu/dnn/dnn_problem.hpp"
#include "runtime/device/convolution.hpp"

namespace croton::runtime::cpu::dnn {

class PreparedConvolution {
 public:
  /// Null, and `why` gets the reason, if the library has only its slow reference code. Throws OutOfMemory.
  static std::unique_ptr<const PreparedConvolution> of(std::shared_ptr<const Library> library, const Problem& problem,
                                                       std::string& why);
  ~PreparedConvolution();

  void run(const ConvolutionArrays& arrays) const;
  const std::string& routine() const { return routine_; }
  std::size_t pieces() const { return pieces_.size(); }

 private:
  /// The arrays that a step reads and writes: the caller's, and those in the library's order.
  enum Array { given_image, own_image, given_filters, own_filters, given_result, own_result, arrays };

  /// A primitive and its arguments.
  struct Step {
    Primitive primitive;
    std::vector<std::pair<int, Array>> arguments;
    Layout scratch;
  };
  /// The common part of the pieces of one size.
  struct Kind {
    Problem problem;
    std::array<Layout, arrays> layouts;
    std::vector<Step> steps;
  };
  struct Piece {
    std::size_t kind;
    std::int64_t image_at, result_at;  // in elements
    std::size_t filters;               // a number among the filters in the library's order: groups, or parts of a sum
  };

  struct Block;      // memory
  struct Bound;      // a kind's steps with memories of the library
  struct Lane;       // the memory of one thread
  struct Workspace;  // the memory of one run
  struct Pointers;   // the caller's arrays

  PreparedConvolution(std::shared_ptr<const Library> library, const Problem& problem);

  // These return the reason of a failure; "" on success.
  std::string build();
  std::string add_kind(const Problem& shape);
  std::string choose(Kind& kind);
  std::string prepare_filters(const Problem& one);
  std::string add_reorder(std::vector<Step>& steps, const Kind& kind, Array from, Array to);
  std::string add_step(std::vector<Step>& steps, const Description& description,
                       std::vector<std::pair<int, Array>> arguments);

  bool filters_are_direct() const;
  std::size_t filter_stride() const;
  std::size_t kept_filters() const;
  Bound bind(const Kind& kind, const Lane& lane) const;
  std::unique_ptr<Lane> make_lane() const;
  void grow(Workspace& workspace, std::int64_t lanes) const;
  std::unique_ptr<Workspace> take_workspace() const;
  void give_back(std::unique_ptr<Workspace> workspace) const;

  // These return false if the library reports a failure.
  bool execute(const Kind& kind, const Bound& bound, const Stream& stream) const;
  bool copy_filters(Workspace& workspace, const void* given, const void* own) const;
  bool read_filters(Workspace& workspace, const Pointers& pointers) const;
  bool run_pieces(Workspace& workspace, const Pointers& pointers) const;
  bool run_piece(const Piece& piece, Lane& lane, const Workspace& workspace, const Pointers& pointers) const;
  bool write_filters(Workspace& workspace, const Pointers& pointers) const;
  void add_up(const float* first, float* to) const;
  const void* filters_of(const Workspace& workspace, const Pointers& pointers, std::size_t index) const;

  std::shared_ptr<const Library> library_;
  Problem problem_;
  std::string routine_;
  std::vector<Kind> kinds_;
  std::vector<Piece> pieces_;
  std::size_t sums_ = 1;                  // of each group's filters; more than 1 only in a gradient by filters
  std::size_t groups_ = 1;                // with filters of their own
  Kind filters_;                          // the steps that read or write the filters of a group
  std::vector<std::int64_t> filters_at_;  // the first element of each group's filters
  bool reversed_ = false;                 // they are reversed in memory, and copied by reversed_shape_
  StridedCopy reversed_shape_;

  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Workspace>> free_;  // not used by a run
};

}  // namespace croton::runtime::cpu::dnn
