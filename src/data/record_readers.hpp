#pragma once

#include <memory>

#include "gym/data/byte_source.hpp"
#include "gym/data/input.hpp"

/// The readers behind open_records().
namespace gym::data {

[[nodiscard]] std::unique_ptr<RecordReader> json_lines(std::unique_ptr<ByteSource> source);
[[nodiscard]] std::unique_ptr<RecordReader> text_lines(std::unique_ptr<ByteSource> source);
[[nodiscard]] std::unique_ptr<RecordReader> text_paragraphs(std::unique_ptr<ByteSource> source);
[[nodiscard]] std::unique_ptr<RecordReader> whole_text(std::unique_ptr<ByteSource> source);

}  // namespace gym::data
