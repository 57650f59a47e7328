#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/data/document.hpp"

namespace gym::data {

inline constexpr std::size_t kInputsMax = 1'000'000;

enum class Format { kText, kJsonLines, kParquet };
/// Where a document of a text file ends.
enum class TextUnit {
    kFile,        ///< nowhere: the file is one document
    kBlankLines,  ///< at one or more empty lines
    kLine,        ///< at every line end
};

struct ReaderOptions {
    std::string format = "auto";  ///< text, jsonl, parquet; auto: by the file's name
    TextUnit text_unit = TextUnit::kFile;
    RecordKeys keys;
};

/// One file to read, wherever it is.
struct Input {
    std::string name;  ///< in the manifest: the file's name, its path below a folder, or its URL
    std::filesystem::path path;  ///< of a local file
    std::string url;             ///< of a remote one
    std::uint64_t size_bytes = 0;
    std::string version;  ///< changes with the content: the time of a file's last change, an ETag
    Format format = Format::kText;
};

/// Which format a file's name stands for, apart from .gz and .zst at its end. Other names are text.
[[nodiscard]] Format format_of(const std::string& name);
/// @errors kInvalidArgument for an unknown word.
[[nodiscard]] Result<Format> format_of(const std::string& name, const ReaderOptions& options);

/// A local file, or the files below a folder whose names end like a format's, by their paths in
/// bytewise order; hidden ones are left out.
/// @errors kNotFound; kIo; kInvalidArgument for a folder without any; kOutOfRange for more than
/// kInputsMax.
[[nodiscard]] Result<std::vector<Input>> expand_local(const std::filesystem::path& path,
                                                      const ReaderOptions& options);

/// The records of one file in order. Not thread-safe; to be used up by the thread that opened it.
class RecordReader {
  public:
    virtual ~RecordReader() = default;
    /// @return false at the end. @errors those of ByteSource::read(); kOutOfRange for a record of
    /// more than kDocumentBytesMax. Messages name the record, not the file.
    [[nodiscard]] virtual Result<bool> next(Record& out) = 0;
};

/// @param path the local copy of `input`. @errors those of open_bytes(); kNotFound, with what to
/// install, where Parquet's reader is not there.
[[nodiscard]] Result<std::unique_ptr<RecordReader>> open_records(const Input& input,
                                                                 const std::filesystem::path& path,
                                                                 const ReaderOptions& options);

}  // namespace gym::data
