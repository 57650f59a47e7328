#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gym/commit/merkle.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/function_ref.hpp"
#include "gym/common/result.hpp"
#include "gym/data/byte_source.hpp"
#include "gym/data/document.hpp"

/// The manifest of a token file: where each of its documents comes from. JSON lines: a head, a line
/// a document in the order of the tokens, an end. Its root is a Merkle root (docs/PROTOCOL.md,
/// "Roots") over the lines' leaves SHA-256("gym manifest line" | line feed | line).
namespace gym::data {

inline constexpr std::size_t kManifestLineBytesMax = std::size_t{1} << 20;

/// OUT.manifest.jsonl for the token file OUT.
[[nodiscard]] std::filesystem::path manifest_path(const std::filesystem::path& token_file);

struct ManifestHead {
    std::string tokenizer;  ///< Encoder::name()
    std::uint32_t vocabulary = 0;
    std::vector<std::uint32_t> separator;  ///< tokens between documents
    std::string options;                   ///< what else the content follows from, as JSON
    friend bool operator==(const ManifestHead&, const ManifestHead&) = default;
};

struct ManifestDocument {
    std::uint64_t first = 0;   ///< position of its first token
    std::uint64_t tokens = 0;  ///< their number
    Digest text_sha256;        ///< of the text that was made into tokens
    Digest tokens_sha256;      ///< of its tokens as the file has them
    std::string source;
    std::string id;
    std::string url;
    std::string licence;
    std::string language;    ///< empty: not asked
    bool consented = false;  ///< its record said so
    friend bool operator==(const ManifestDocument&, const ManifestDocument&) = default;
};

struct ManifestEnd {
    Digest dataset_root;
    std::uint64_t tokens = 0;
    std::uint64_t documents = 0;
    std::map<std::string, std::uint64_t> removed;  ///< documents by the step that removed them
    friend bool operator==(const ManifestEnd&, const ManifestEnd&) = default;
};

/// One line each, without a line feed. Deterministic.
[[nodiscard]] std::string to_line(const ManifestHead& head);
[[nodiscard]] std::string to_line(const ManifestDocument& document);
[[nodiscard]] std::string to_line(const ManifestEnd& end);

/// Writes lines and their root. Not thread-safe.
class ManifestWriter {
  public:
    /// @errors kIo.
    static Result<ManifestWriter> create(const std::filesystem::path& path);
    /// Continues a file after its first `bytes` bytes; the rest is cut off. @errors kMalformed if
    /// they are not there or do not end a line; kNotFound, kIo.
    static Result<ManifestWriter> resume(const std::filesystem::path& path, std::uint64_t bytes);
    Status append(const std::string& line);
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    [[nodiscard]] Digest root() const { return tree_.root(); }
    Status sync();

  private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    ManifestWriter(std::FILE* file, std::filesystem::path path)
        : file_(file), path_(std::move(path)) {}
    [[nodiscard]] Error system_error() const;

    std::unique_ptr<std::FILE, Close> file_;
    std::filesystem::path path_;
    std::uint64_t bytes_ = 0;
    commit::MerkleAccumulator tree_;
};

struct Manifest {
    Digest root;
    ManifestHead head;
    ManifestEnd end;
};

/// Reads a manifest in constant memory, a document at a time. Not thread-safe.
class ManifestReader {
  public:
    /// Reads the head. @errors kNotFound, kIo; kMalformed naming the line.
    static Result<ManifestReader> open(const std::filesystem::path& path);
    /// The same of a source whose errors begin with `name`.
    static Result<ManifestReader> read(std::unique_ptr<ByteSource> source, std::string name);
    ManifestReader(ManifestReader&&) noexcept;
    ManifestReader& operator=(ManifestReader&&) = delete;
    ~ManifestReader();

    [[nodiscard]] const ManifestHead& head() const;
    /// @return false at the end, which was read then. @errors kMalformed naming the line; kMismatch
    /// where the end does not count what was there.
    [[nodiscard]] Result<bool> next(ManifestDocument& document);
    /// @pre next() returned false.
    [[nodiscard]] const Manifest& whole() const;

  private:
    struct Impl;
    explicit ManifestReader(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// Reads all of a manifest; `visit` is called with every document, in order, and its error ends the
/// reading. @errors those of ManifestReader.
[[nodiscard]] Result<Manifest> read_manifest(const std::filesystem::path& path,
                                             FunctionRef<Status(const ManifestDocument&)> visit);

/// Checks a token file against its manifest: the dataset's root, the number of tokens, and every
/// document's tokens. @return the manifest. @errors those of scan_dataset() and read_manifest();
/// kMismatch, naming the document.
[[nodiscard]] Result<Manifest> verify(const std::filesystem::path& token_file,
                                      const std::filesystem::path& manifest);

}  // namespace gym::data
