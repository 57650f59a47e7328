#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gym/blob/dataset_writer.hpp"
#include "gym/common/result.hpp"
#include "gym/data/encoder.hpp"
#include "gym/data/input.hpp"
#include "gym/data/remote.hpp"
#include "gym/data/steps.hpp"

/// From files of documents to a token file and its manifest.
///
/// Memory is bounded whatever the inputs' size: two batches of kBatchBytesMax (or one document of
/// kDocumentBytesMax) in several forms, and `index_bytes_max`. The output depends on the inputs'
/// names and contents and on the options, not on `threads`, `index_bytes_max` or interruptions.
///
/// Work in progress is in the folder OUT.work: an interrupted build of the same inputs and options
/// continues from its last checkpoint; another one begins anew. Remote files are copied there one
/// after the other. OUT and OUT.manifest.jsonl appear when they are whole.
namespace gym::data {

inline constexpr std::size_t kBatchBytesMax = std::size_t{8} << 20;
inline constexpr std::size_t kBatchRecordsMax = 4096;
inline constexpr unsigned kThreadsMax = 256;

struct BuildProgress {
    std::uint64_t inputs = 0;  ///< files in all
    std::uint64_t inputs_done = 0;
    std::uint64_t documents_read = 0;
    std::uint64_t documents_kept = 0;
    std::uint64_t text_bytes_read = 0;
    std::uint64_t tokens = 0;
};

/// Rows of which each holds one document, or a piece of one: `window` tokens and one more, which is
/// the next one's first (of the last: padding). Tokens behind a document are `padding`.
struct PaddedRows {
    std::uint32_t window = 0;
    std::uint32_t padding = 0;
};

struct BuildOptions {
    std::vector<std::string> inputs;  ///< files, folders, s3://, https://; in this order
    std::filesystem::path output;
    ReaderOptions reader;
    RemoteOptions remote;
    StepOptions steps;
    EncoderFactory encoder;
    bool skip_malformed = false;      ///< count records that are not what they should be, and go on
    std::optional<PaddedRows> rows;   ///< absent: documents follow each other
    std::uint64_t window_tokens = 0;  ///< both parts of the output must hold so many
    unsigned threads = 1;
    std::uint64_t index_bytes_max = std::uint64_t{1} << 30;
    std::uint64_t checkpoint_bytes = std::uint64_t{64} << 20;  ///< of text between checkpoints
    std::function<void(const BuildProgress&)> progress;        ///< may be empty
    std::function<bool()> stopped;                             ///< may be empty
};

/// What one step did.
struct StepCount {
    std::uint64_t removed = 0;
    std::uint64_t changed = 0;
    std::map<std::string, std::uint64_t> reasons;  ///< of what it removed
    friend bool operator==(const StepCount&, const StepCount&) = default;
};
struct BuildCounts {
    std::uint64_t documents_read = 0;
    std::uint64_t documents_kept = 0;
    std::uint64_t text_bytes_read = 0;
    std::uint64_t text_bytes_kept = 0;
    /// By name: "read" (malformed and empty records), "opt-out", "licence", the steps.
    std::map<std::string, StepCount> steps;
    friend bool operator==(const BuildCounts&, const BuildCounts&) = default;
};
/// The names of `steps` above in the order of the work.
[[nodiscard]] std::vector<std::string> stages_of(const StepOptions& options);

struct BuildReport {
    blob::DatasetSummary dataset;
    std::filesystem::path manifest;
    Digest manifest_root;
    BuildCounts counts;
    bool continued = false;  ///< from an interrupted build
};

/// @errors kInvalidArgument for options that do not fit together, no input, or no document left;
/// kMalformed for a record, naming input and number; kConflict while another build writes the same
/// output; kCancelled when `stopped`; those of the parts. After all of these the same build
/// continues.
[[nodiscard]] Result<BuildReport> build(const BuildOptions& options);

}  // namespace gym::data
