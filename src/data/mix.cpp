#include "gym/data/mix.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <optional>
#include <utility>

#include "gym/common/file.hpp"
#include "gym/data/manifest.hpp"
#include "token_hash.hpp"
#include "token_pieces.hpp"

namespace gym::data {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::uint64_t kPpm = 1'000'000;
constexpr std::size_t kPlaces = 6;

struct Piece {
    ManifestDocument about;  ///< its place is that in the input
    std::vector<std::uint32_t> tokens;
    bool is_document = false;
};

/// One input while pieces are taken from it.
class MixSource {
  public:
    static Result<MixSource> open(const MixInput& input) {
        GYM_TRY(const auto summary, blob::scan_dataset(input.path));
        GYM_TRY(TokenFile tokens, TokenFile::open(input.path));
        MixSource out(input, summary, std::move(tokens));
        std::error_code error;
        const fs::path manifest = manifest_path(input.path);
        if (fs::exists(manifest, error)) GYM_CHECK(out.open_manifest(manifest));
        return out;
    }

    [[nodiscard]] const blob::DatasetSummary& summary() const { return summary_; }
    [[nodiscard]] const fs::path& path() const { return input_.path; }
    [[nodiscard]] const std::optional<Manifest>& manifest() const { return manifest_; }
    [[nodiscard]] std::uint64_t taken() const { return taken_; }
    /// Whether less has been taken of it than of `other`, by their shares.
    [[nodiscard]] bool lags_behind(const MixSource& other) const {
        // Below 2^36 tokens times 10^8.
        return taken_ * other.input_.weight_ppm < other.taken_ * input_.weight_ppm;
    }
    [[nodiscard]] MixShare share() const {
        return {input_.path, summary_.root, summary_.tokens, taken_};
    }

    /// @return false where nothing is left.
    Result<bool> take(Piece& piece) {
        piece.is_document = documents_.has_value();
        if (documents_) {
            GYM_TRY(const bool more, documents_->next(piece.about));
            if (!more) return false;
        } else {
            if (at_ == summary_.tokens) return false;
            piece.about = {.first = at_,
                           .tokens = std::min(kMixBlockTokens, summary_.tokens - at_),
                           .source = std::to_string(at_)};
            at_ += piece.about.tokens;
        }
        piece.about.source = input_.path.filename().string() + ":" + piece.about.source;
        GYM_CHECK(tokens_.read(piece.about.first, piece.about.tokens, piece.tokens));
        const Digest found = tokens_sha256(summary_.tokenization(), piece.tokens);
        if (documents_ && found != piece.about.tokens_sha256)
            return fail(ErrorCode::kMismatch,
                        piece.about.source + ": its tokens are not those of the manifest");
        piece.about.tokens_sha256 = found;
        taken_ += piece.about.tokens;
        return true;
    }

  private:
    MixSource(MixInput input, const blob::DatasetSummary& summary, TokenFile tokens)
        : input_(std::move(input)), summary_(summary), tokens_(std::move(tokens)) {}

    Status open_manifest(const fs::path& path) {
        GYM_TRY(manifest_, read_manifest(path, [](const ManifestDocument&) { return Status(); }));
        if (manifest_->end.dataset_root != summary_.root)
            return fail(ErrorCode::kMismatch, path.string() +
                                                  " is the manifest of another dataset "
                                                  "than " +
                                                  input_.path.string());
        GYM_TRY(ManifestReader reader, ManifestReader::open(path));
        documents_.emplace(std::move(reader));
        return {};
    }

    MixInput input_;
    blob::DatasetSummary summary_;
    TokenFile tokens_;
    std::optional<Manifest> manifest_;
    std::optional<ManifestReader> documents_;
    std::uint64_t at_ = 0;  ///< of an input without documents
    std::uint64_t taken_ = 0;
};

/// Files under their final names only when they are whole.
struct PartFiles {
    explicit PartFiles(const fs::path& output)
        : tokens(output.string() + ".part"), manifest(manifest_path(output).string() + ".part") {}
    PartFiles(const PartFiles&) = delete;
    PartFiles& operator=(const PartFiles&) = delete;
    ~PartFiles() {
        std::error_code ignored;
        fs::remove(tokens, ignored);
        fs::remove(manifest, ignored);
    }
    fs::path tokens, manifest;
};

/// The head of a mix, from those of its inputs, which must go together.
Result<ManifestHead> head_of(const std::vector<MixSource>& sources, const MixOptions& options) {
    ManifestHead out{.tokenizer = "unknown", .vocabulary = sources[0].summary().vocabulary};
    bool known = false;
    json::array inputs;
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const MixSource& source = sources[i];
        const auto refuse = [&](const std::string& what) {
            return fail(ErrorCode::kInvalidArgument,
                        source.path().string() + " has another " + what + " than " +
                            sources[0].path().string() + ": build both with one tokenizer");
        };
        if (source.summary().vocabulary != out.vocabulary) return refuse("vocabulary");
        if (source.summary().tokenizer != sources[0].summary().tokenizer)
            return refuse("tokenizer");
        json::object about{{"dataset_root", source.summary().root.hex()},
                           {"weight_ppm", options.inputs[i].weight_ppm}};
        if (source.manifest()) {
            const ManifestHead& head = source.manifest()->head;
            if (known && (head.tokenizer != out.tokenizer || head.separator != out.separator))
                return refuse("tokenizer");
            out.tokenizer = head.tokenizer;
            out.separator = head.separator;
            known = true;
            about["manifest_root"] = source.manifest()->root.hex();
        }
        inputs.push_back(std::move(about));
    }
    out.options = json::serialize(json::object{{"mix", std::move(inputs)}});
    return out;
}

class Mixer {
  public:
    Mixer(const MixOptions& options, std::vector<MixSource> sources, ManifestHead head)
        : options_(options),
          sources_(std::move(sources)),
          head_(std::move(head)),
          files_(options.output) {}

    Result<MixReport> run() {
        GYM_TRY(blob::DatasetWriter writer,
                blob::DatasetWriter::create(files_.tokens, sources_[0].summary().tokenization()));
        GYM_TRY(ManifestWriter manifest, ManifestWriter::create(files_.manifest));
        GYM_CHECK(manifest.append(to_line(head_)));
        ManifestEnd end;
        Piece piece;
        while (options_.tokens_max == 0 || writer.tokens() < options_.tokens_max) {
            const auto source = std::ranges::min_element(
                sources_, [](const MixSource& a, const MixSource& b) { return a.lags_behind(b); });
            GYM_TRY(const bool more, source->take(piece));
            if (!more) break;
            GYM_CHECK(separate(writer, piece, *source));
            piece.about.first = writer.tokens();
            GYM_CHECK(writer.append(piece.tokens));
            GYM_CHECK(manifest.append(to_line(piece.about)));
            ++end.documents;
        }
        MixReport out;
        GYM_TRY(out.dataset, writer.finish(files_.tokens));
        end.dataset_root = out.dataset.root;
        end.tokens = out.dataset.tokens;
        GYM_CHECK(manifest.append(to_line(end)));
        GYM_CHECK(manifest.sync());
        out.manifest_root = manifest.root();
        out.manifest = manifest_path(options_.output);
        std::error_code error;
        fs::rename(files_.manifest, out.manifest, error);
        if (!error) fs::rename(files_.tokens, options_.output, error);
        if (error)
            return fail(ErrorCode::kIo,
                        "cannot write " + options_.output.string() + ": " + error.message());
        out.shares.reserve(sources_.size());
        for (const MixSource& source : sources_)
            out.shares.push_back(source.share());
        return out;
    }

  private:
    /// Between pieces, but not between blocks that follow each other in their input.
    Status separate(blob::DatasetWriter& writer, const Piece& piece, const MixSource& source) {
        const bool follows = !piece.is_document && last_ == &source;
        last_ = &source;
        if (writer.tokens() == 0 || follows) return {};
        return writer.append(head_.separator);
    }

    const MixOptions& options_;
    std::vector<MixSource> sources_;
    const ManifestHead head_;
    const PartFiles files_;
    const MixSource* last_ = nullptr;
};

}  // namespace

Result<MixInput> parse_mix_input(const std::string& text) {
    const auto refuse = [&] {
        return fail(ErrorCode::kInvalidArgument,
                    "'" + text +
                        "': expected FILE:WEIGHT with a weight above 0 and at most 100, "
                        "such as a.tokens:0.7");
    };
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0) return refuse();
    std::string whole = text.substr(colon + 1), places;
    if (const std::size_t dot = whole.find('.'); dot != std::string::npos) {
        places = whole.substr(dot + 1);
        whole.resize(dot);
    }
    if (places.size() > kPlaces || whole.size() > 3 || (whole.empty() && places.empty()))
        return refuse();
    places.resize(kPlaces, '0');
    const std::string digits = whole + places;
    MixInput out{.path = text.substr(0, colon)};
    const char* const end = digits.data() + digits.size();
    const auto [after, error] = std::from_chars(digits.data(), end, out.weight_ppm);
    if (error != std::errc{} || after != end || out.weight_ppm == 0 || out.weight_ppm > 100 * kPpm)
        return refuse();
    return out;
}

Result<MixReport> mix(const MixOptions& options) {
    if (options.inputs.size() < 2 || options.inputs.size() > kMixInputsMax)
        return fail(ErrorCode::kInvalidArgument,
                    "a mix is of 2 to " + std::to_string(kMixInputsMax) + " token files");
    GYM_CHECK(check_writable(options.output));
    std::vector<MixSource> sources;
    sources.reserve(options.inputs.size());
    for (const MixInput& input : options.inputs) {
        GYM_TRY(MixSource source, MixSource::open(input));
        sources.push_back(std::move(source));
    }
    GYM_TRY(ManifestHead head, head_of(sources, options));
    return Mixer(options, std::move(sources), std::move(head)).run();
}

}  // namespace gym::data
