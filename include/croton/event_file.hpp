// Event files: curves for TensorBoard (tensorboard --logdir FOLDER).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace croton::io {

/// A writer of numbers over steps to a new file events.out.tfevents.TIME.HOST in a folder, which TensorBoard reads
/// while it grows. The format: records of TFRecord (https://www.tensorflow.org/tutorials/load_data/tfrecord), each a
/// protocol buffer Event (tensorflow/core/util/event.proto). An EventFile belongs to one thread at a time.
class EventFile {
 public:
  /// Creates the folder, if it is missing, and the file. FileError.
  explicit EventFile(const std::filesystem::path& folder);
  /// Writes the remaining points, and ignores errors: call flush to get them.
  ~EventFile();
  EventFile(EventFile&&) noexcept;
  EventFile& operator=(EventFile&&) noexcept;

  /// Adds a point to the curve `tag`, in UTF-8; parts of a tag between slashes group curves. TensorBoard stores
  /// float32. Points are buffered and written together: FileError if that fails, and nothing is lost if a later call
  /// succeeds.
  void scalar(const std::string& tag, double value, std::int64_t step);
  /// Writes all points added so far. FileError.
  void flush();

  /// The path of the file.
  const std::filesystem::path& path() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace croton::io
