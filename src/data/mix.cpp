#include "gym/data/mix.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "gym/common/file.hpp"
#include "gym/common/ppm.hpp"
#include "gym/data/manifest.hpp"
#include "mix_shares.hpp"
#include "mix_source.hpp"

namespace gym::data {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

__extension__ using Wide = unsigned __int128;

constexpr std::size_t kPlaces = 6;
/// Short mixes are of shorter pieces, so that they are even, too.
constexpr std::uint64_t kPiecesMin = 512;
constexpr std::uint64_t kPieceTokensMin = 256;

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

/// How far a share is from what was asked for, at the most.
std::uint64_t deviation_ppm(std::span<const std::uint64_t> asked,
                            std::span<const std::uint64_t> achieved) {
    std::uint64_t out = 0;
    for (std::size_t i = 0; i < asked.size(); ++i)
        out = std::max(out, std::max(asked[i], achieved[i]) - std::min(asked[i], achieved[i]));
    return out;
}

/// The head of a mix, from those of its inputs, which must go together.
Result<ManifestHead> head_of(const std::vector<MixSource>& sources, const MixOptions& options) {
    ManifestHead out{.tokenizer = "unknown", .vocabulary = sources[0].summary().vocabulary};
    bool known = false;
    json::array inputs;
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const MixSource& source = sources[i];
        const auto refuse = [&](const std::string& what) {
            return fail(ErrorCode::kInvalidArgument,
                        source.input().path.string() + " has another " + what + " than " +
                            sources[0].input().path.string() + ": build both with one tokenizer");
        };
        if (source.summary().vocabulary != out.vocabulary) return refuse("vocabulary");
        if (source.summary().tokenizer != sources[0].summary().tokenizer)
            return refuse("tokenizer");
        json::object about{{"dataset_root", source.summary().root.hex()},
                           {"weight_ppm", options.inputs[i].weight_ppm}};
        if (source.manifest()) {
            const ManifestHead& head = source.manifest()->head;
            if (head.separator.empty())
                return fail(ErrorCode::kInvalidArgument,
                            source.input().path.string() +
                                " holds padded rows, which a mix would cut: build one token file "
                                "of all the documents (`gym data build A B --pad-to ...`)");
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

/// What one input has given to the mix so far.
struct Given {
    std::uint64_t quota = 0;
    std::uint64_t taken = 0;  ///< with the separators before its pieces
    bool closed = false;      ///< gives no more

    [[nodiscard]] bool is_open() const { return !closed && taken < quota; }
    /// Whether less has been taken of it than of `other`, by their quotas.
    [[nodiscard]] bool lags_behind(const Given& other) const {
        return Wide{taken} * other.quota < Wide{other.taken} * quota;
    }
};

class Mixer {
  public:
    Mixer(const MixOptions& options, std::vector<MixSource> sources,
          std::span<const std::uint64_t> quotas, ManifestHead head)
        : options_(options),
          sources_(std::move(sources)),
          given_(sources_.size()),
          head_(std::move(head)),
          files_(options.output) {
        std::uint64_t total = 0;
        for (std::size_t i = 0; i < given_.size(); ++i) {
            given_[i].quota = quotas[i];
            total += quotas[i];
        }
        piece_tokens_max_ = std::clamp(total / kPiecesMin, kPieceTokensMin, kMixPieceTokensMax);
    }

    Result<MixReport> run() {
        GYM_TRY(blob::DatasetWriter writer,
                blob::DatasetWriter::create(files_.tokens, sources_[0].summary().tokenization()));
        GYM_TRY(ManifestWriter manifest, ManifestWriter::create(files_.manifest));
        GYM_CHECK(manifest.append(to_line(head_)));
        while (const auto next = furthest_behind())
            GYM_CHECK(add_piece(*next, writer, manifest));
        for (MixSource& source : sources_)
            GYM_CHECK(source.finish());
        MixReport out = shares();
        GYM_CHECK(check_deviation(out));
        GYM_TRY(out.dataset, writer.finish(files_.tokens));
        end_.dataset_root = out.dataset.root;
        end_.tokens = out.dataset.tokens;
        GYM_CHECK(manifest.append(to_line(end_)));
        GYM_CHECK(manifest.sync());
        out.manifest_root = manifest.root();
        out.manifest = manifest_path(options_.output);
        std::error_code error;
        fs::rename(files_.manifest, out.manifest, error);
        if (!error) fs::rename(files_.tokens, options_.output, error);
        if (error)
            return fail(ErrorCode::kIo,
                        "cannot write " + options_.output.string() + ": " + error.message());
        return out;
    }

  private:
    /// The input that lags furthest behind its quota; nothing once the mix is whole.
    [[nodiscard]] std::optional<std::size_t> furthest_behind() const {
        std::optional<std::size_t> out;
        for (std::size_t i = 0; i < given_.size(); ++i)
            if (given_[i].is_open() && (!out || given_[i].lags_behind(given_[*out]))) out = i;
        return out;
    }

    Status add_piece(std::size_t index, blob::DatasetWriter& writer, ManifestWriter& manifest) {
        MixSource& source = sources_[index];
        Given& given = given_[index];
        GYM_TRY(const std::uint64_t left, source.left());
        const bool follows = last_ == index && source.continues();
        last_ = index;
        const TokenView separator =
            writer.tokens() == 0 || follows ? TokenView() : TokenView(head_.separator);
        const std::uint64_t room = given.quota - given.taken;
        const bool whole = options_.whole_documents && source.has_documents();
        given.closed = left == 0 || (whole && left + separator.size() > room);
        if (given.closed) return {};
        if (room <= separator.size()) {  // the end of its quota
            given.taken += room;
            return writer.append(separator.first(room));
        }
        const std::uint64_t size =
            whole ? left : std::min({left, room - separator.size(), piece_tokens_max_});
        GYM_CHECK(writer.append(separator));
        GYM_CHECK(source.take(size, piece_));
        piece_.about.first = writer.tokens();
        given.taken += separator.size() + size;
        ++end_.documents;
        GYM_CHECK(writer.append(piece_.tokens));
        return manifest.append(to_line(piece_.about));
    }

    /// A report of the shares alone.
    [[nodiscard]] MixReport shares() const {
        std::vector<std::uint64_t> weights, taken;
        weights.reserve(given_.size());
        taken.reserve(given_.size());
        for (std::size_t i = 0; i < given_.size(); ++i) {
            weights.push_back(options_.inputs[i].weight_ppm);
            taken.push_back(given_[i].taken);
        }
        const bool nothing = std::ranges::count(taken, 0U) == std::ssize(taken);
        const auto asked = apportion(weights, kPpm);
        const auto achieved =
            nothing ? std::vector<std::uint64_t>(taken.size()) : apportion(taken, kPpm);
        MixReport out{.deviation_ppm = deviation_ppm(asked, achieved)};
        out.shares.reserve(sources_.size());
        for (std::size_t i = 0; i < sources_.size(); ++i)
            out.shares.push_back({.path = sources_[i].input().path,
                                  .dataset_root = sources_[i].summary().root,
                                  .tokens = sources_[i].summary().tokens,
                                  .taken = taken[i],
                                  .asked_ppm = asked[i],
                                  .achieved_ppm = achieved[i]});
        return out;
    }

    /// Only whole documents can be uneven here: quotas were checked before.
    [[nodiscard]] Status check_deviation(const MixReport& report) const {
        if (!options_.whole_documents || options_.best_effort ||
            report.deviation_ppm <= kMixDeviationPpmMax)
            return {};
        return fail(ErrorCode::kInvalidArgument,
                    "whole documents give " + shares_text(report.shares) +
                        ": leave --whole-documents out to split long ones, or accept these shares "
                        "with --best-effort");
    }

    const MixOptions& options_;
    std::vector<MixSource> sources_;
    std::vector<Given> given_;
    const ManifestHead head_;
    const PartFiles files_;
    std::uint64_t piece_tokens_max_ = 0;
    std::optional<std::size_t> last_;
    MixPiece piece_;
    ManifestEnd end_;
};

Status check_wishes(const std::vector<MixWish>& inputs) {
    if (inputs.size() < 2 || inputs.size() > kMixInputsMax)
        return fail(ErrorCode::kInvalidArgument,
                    "a mix is of 2 to " + std::to_string(kMixInputsMax) + " token files");
    for (const MixWish& input : inputs)
        if (input.weight_ppm == 0)
            return fail(ErrorCode::kInvalidArgument, input.name + ": its weight is 0");
    return {};
}

Status check_inputs(const MixOptions& options) {
    std::vector<MixWish> wishes;
    wishes.reserve(options.inputs.size());
    for (const MixInput& input : options.inputs)
        wishes.push_back({input.path.string(), input.weight_ppm, 0});
    GYM_CHECK(check_wishes(wishes));
    return check_writable(options.output);
}

Result<std::vector<MixSource>> open_sources(const MixOptions& options) {
    std::vector<MixSource> out;
    out.reserve(options.inputs.size());
    for (const MixInput& input : options.inputs) {
        GYM_TRY(MixSource source, MixSource::open(input));
        const auto same = std::ranges::find(
            out, source.summary().root, [](const MixSource& one) { return one.summary().root; });
        if (same != out.end())
            return fail(ErrorCode::kInvalidArgument,
                        input.path.string() + " has the tokens of " + same->input().path.string() +
                            ": name it once, with the sum of both weights");
        out.push_back(std::move(source));
    }
    return out;
}

/// Of sources, by what their manifests say.
Result<std::vector<std::uint64_t>> find_quotas(const MixOptions& options,
                                               const std::vector<MixSource>& sources) {
    std::vector<MixWish> wishes;
    wishes.reserve(sources.size());
    for (const MixSource& source : sources)
        wishes.push_back(
            {source.input().path.string(), source.input().weight_ppm, source.available()});
    return mix_quotas(wishes, options.tokens, options.best_effort);
}

}  // namespace

Result<std::vector<std::uint64_t>> mix_quotas(const std::vector<MixWish>& inputs,
                                              std::uint64_t tokens, bool best_effort) {
    GYM_CHECK(check_wishes(inputs));
    std::vector<std::uint64_t> weights, available;
    for (const MixWish& input : inputs) {
        weights.push_back(input.weight_ppm);
        available.push_back(input.available);
    }
    const std::uint64_t most = most_in_shares(weights, available);
    const std::uint64_t total = tokens == 0 ? most : tokens;
    auto out = quotas(weights, available, total);
    const std::uint64_t given = std::accumulate(out.begin(), out.end(), std::uint64_t{0});
    if (given == 0)
        return fail(ErrorCode::kInvalidArgument, "the inputs are too short for these shares");
    if (best_effort) return out;
    if (given < total)
        return fail(ErrorCode::kInvalidArgument,
                    "all inputs together have " + std::to_string(given) + " tokens, not " +
                        std::to_string(total) + "; in these shares " + std::to_string(most) +
                        ", which is what a mix without --tokens has");
    const auto asked = apportion(weights, kPpm), achieved = apportion(out, kPpm);
    // A mix of a few tokens is as close to the weights as whole tokens can be.
    const bool all_have_it = out == apportion(weights, total);
    if (all_have_it || deviation_ppm(asked, achieved) <= kMixDeviationPpmMax) return out;
    std::size_t shortest = 0;
    for (std::size_t i = 0; i < out.size(); ++i)
        if (asked[i] + achieved[shortest] > achieved[i] + asked[shortest]) shortest = i;
    return fail(ErrorCode::kInvalidArgument,
                inputs[shortest].name + " has " + std::to_string(available[shortest]) +
                    " tokens, which are " + percent_text(achieved[shortest]) + " of " +
                    std::to_string(total) + " and not " + percent_text(asked[shortest]) +
                    ": ask for at most --tokens " + std::to_string(most) +
                    ", or fill up from the others with --best-effort");
}

std::uint64_t mix_weight_ppm(double weight) {
    return static_cast<std::uint64_t>(std::llround(weight * kPpm));
}

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

std::string percent_text(std::uint64_t ppm) {
    std::string places = std::to_string(ppm % 10'000);
    places.insert(0, 4 - places.size(), '0');
    return std::to_string(ppm / 10'000) + "." + places + " %";
}

std::string shares_text(const std::vector<MixShare>& shares) {
    std::string out;
    for (const MixShare& share : shares)
        out += (out.empty() ? "" : ", ") + share.path.string() + " " +
               percent_text(share.achieved_ppm) + " instead of " + percent_text(share.asked_ppm);
    return out;
}

Result<MixReport> mix(const MixOptions& options) {
    GYM_CHECK(check_inputs(options));
    GYM_TRY(std::vector<MixSource> sources, open_sources(options));
    GYM_TRY(ManifestHead head, head_of(sources, options));
    GYM_TRY(const auto quotas, find_quotas(options, sources));
    return Mixer(options, std::move(sources), quotas, std::move(head)).run();
}

}  // namespace gym::data
