#include "gym/data/build.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <optional>
#include <utility>

#include "batch_reader.hpp"
#include "checkpoint.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/common/file.hpp"
#include "gym/common/file_lock.hpp"
#include "gym/common/printable.hpp"
#include "gym/data/manifest.hpp"
#include "padded_rows.hpp"
#include "parallel.hpp"
#include "token_hash.hpp"
#include "unicode.hpp"

namespace gym::data {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::uint64_t kCheckpointBytesMax = std::uint64_t{1} << 26;
/// Between the documents of a tokenizer that has no token for it.
constexpr std::string_view kSeparatorText = "\n\n";

struct WorkFiles {
    explicit WorkFiles(const fs::path& output) : folder(output.string() + ".work") {}
    fs::path folder;
    [[nodiscard]] fs::path tokens() const { return folder / "tokens"; }
    [[nodiscard]] fs::path manifest() const { return folder / "manifest.jsonl"; }
    [[nodiscard]] fs::path journal() const { return folder / "index"; }
    [[nodiscard]] fs::path checkpoint() const { return folder / "checkpoint.json"; }
    [[nodiscard]] fs::path spool() const { return folder / "spool"; }
    [[nodiscard]] fs::path lock() const { return folder / "lock"; }
};

bool has_step(const StepOptions& options, Step step) {
    return std::ranges::find(options.steps, step) != options.steps.end();
}

template <class Texts>
json::array to_array(const Texts& texts) {
    json::array out;
    for (const std::string& text : texts)
        out.emplace_back(text);
    return out;
}

/// What the content follows from besides inputs and tokenizer. Part of the manifest.
json::object options_json(const BuildOptions& options) {
    json::array steps;
    for (const Step step : options.steps.steps)
        steps.emplace_back(name_of(step));
    const Consent& consent = options.steps.consent;
    json::object out{{"steps", std::move(steps)},
                     {"default_licence", consent.default_licence},
                     {"licences", to_array(consent.licences)},
                     {"opted_out_names", consent.opted_out.size()}};
    if (consent.opt_out_list) out["opted_out_sha256"] = to_hex(consent.opt_out_list->view());
    if (has_step(options.steps, Step::kLanguage))
        out["languages"] = to_array(options.steps.languages);
    if (has_step(options.steps, Step::kMinhash)) out["seed"] = options.steps.seed;
    if (options.rows) {
        out["pad_to"] = options.rows->window;
        out["padding_token"] = options.rows->padding;
    }
    return out;
}

/// Everything that decides about the output: a build continues only one of the same identity.
std::string identity_of(const BuildOptions& options, const std::vector<Input>& inputs,
                        const std::string& head) {
    commit::Hasher hasher;
    const auto add = [&](std::string_view text) {
        hasher.update_u64(text.size()).update(as_bytes(text));
    };
    add(head);
    for (const Input& input : inputs) {
        add(input.name);
        add(input.version);
        hasher.update_u64(input.size_bytes).update_u64(static_cast<std::uint64_t>(input.format));
    }
    hasher.update_u64(static_cast<std::uint64_t>(options.reader.text_unit));
    hasher.update_u64(options.skip_malformed ? 1 : 0);
    const RecordKeys& keys = options.reader.keys;
    for (const auto* names :
         {&keys.text, &keys.id, &keys.url, &keys.licence, &keys.opt_out, &keys.consent})
        for (const std::string& name : *names)
            add(name);
    for (const std::string& name : options.steps.consent.opted_out)
        add(name);
    return hasher.finish().hex();
}

/// A name for the manifest, which is UTF-8.
std::string shown_name(const Input& input, std::uint64_t record) {
    std::string name =
        is_utf8(input.name) ? input.name : printable_ascii(input.name, kProvenanceBytesMax);
    return name + ":" + std::to_string(record);
}

/// One document on its way through a batch.
struct Item {
    std::optional<Error> malformed;
    std::optional<Error> not_encoded;
    Prepared prepared;
    std::vector<std::uint32_t> tokens;
};

class Builder {
  public:
    Builder(const BuildOptions& options, std::vector<Input> inputs)
        : options_(options),
          inputs_(std::move(inputs)),
          files_(options.output),
          exact_(has_step(options.steps, Step::kExactDedup)),
          near_(has_step(options.steps, Step::kMinhash)),
          index_(std::make_unique<DuplicateIndex>(exact_, near_, options.index_bytes_max)) {}

    Result<BuildReport> run() {
        GYM_CHECK(make_folders());
        GYM_TRY(const FileLock lock,
                FileLock::acquire(files_.lock(), "a build of " + options_.output.string()));
        GYM_CHECK(start_encoders());
        GYM_CHECK(resume_or_begin());
        BatchReader reader(inputs_, options_.reader, options_.remote, files_.spool(), position_);
        for (bool more = true; more;) {
            Batch batch = reader.next();
            GYM_CHECK(process(batch));
            more = !batch.last;
            const bool stopped = options_.stopped && options_.stopped();
            since_checkpoint_ += bytes_of(batch);
            const bool pause = batch.error || stopped;
            if ((pause || since_checkpoint_ >= options_.checkpoint_bytes) && more)
                GYM_CHECK(save_checkpoint());
            report_progress();
            if (batch.error) return *batch.error;
            if (stopped && more)
                return fail(ErrorCode::kCancelled,
                            "interrupted; run the same command again: it continues");
        }
        return finish();
    }

  private:
    Status make_folders() const {
        GYM_CHECK(check_writable(options_.output));
        std::error_code error;
        fs::create_directories(files_.spool(), error);
        if (error)
            return fail(ErrorCode::kIo, "cannot make the folder " + files_.folder.string() + ": " +
                                            error.message());
        return {};
    }

    Status start_encoders() {
        encoders_.reserve(options_.threads);
        for (unsigned i = 0; i < options_.threads; ++i) {
            GYM_TRY(auto encoder, options_.encoder());
            encoders_.push_back(std::move(encoder));
        }
        Encoder& first = *encoders_.front();
        head_.tokenizer = first.name();
        head_.vocabulary = first.vocabulary();
        if (options_.rows)
            head_.vocabulary = std::max(head_.vocabulary, options_.rows->padding + 1);
        tokenization_ = {head_.vocabulary, first.tokenizer_root()};
        end_of_text_ = first.end_of_text();
        if (!options_.rows) {
            if (end_of_text_)
                head_.separator = {*end_of_text_};
            else
                GYM_CHECK(first.encode(kSeparatorText, head_.separator));
        }
        head_.options = json::serialize(options_json(options_));
        identity_ = identity_of(options_, inputs_, to_line(head_));
        return {};
    }

    /// What an earlier build left, if it is one of ours and whole.
    Status resume(const Checkpoint& from) {
        GYM_TRY(auto tokens,
                blob::DatasetWriter::resume(files_.tokens(), tokenization_, from.tokens));
        GYM_TRY(auto manifest, ManifestWriter::resume(files_.manifest(), from.manifest_bytes));
        GYM_TRY(auto journal, IndexJournal::resume(files_.journal(), from.index_entries, *index_));
        writer_.emplace(std::move(tokens));
        manifest_.emplace(std::move(manifest));
        journal_.emplace(std::move(journal));
        position_ = from.position;
        counts_ = from.counts;
        continued_ = true;
        return {};
    }

    Status resume_or_begin() {
        const auto text = read_file(files_.checkpoint(), kCheckpointBytesMax);
        bool same = false;
        if (text.ok()) {
            const auto from = read_checkpoint({text->begin(), text->end()});
            same = from.ok() && from->identity == identity_;
            if (same) {
                Status resumed = resume(*from);
                if (resumed.ok() || resumed.error().code == ErrorCode::kOutOfRange) return resumed;
            }
        }
        if (!same) forget_copies();  // of other inputs
        std::error_code ignored;
        fs::remove(files_.checkpoint(), ignored);
        index_ = std::make_unique<DuplicateIndex>(exact_, near_, options_.index_bytes_max);
        GYM_TRY(auto tokens, blob::DatasetWriter::create(files_.tokens(), tokenization_));
        GYM_TRY(auto manifest, ManifestWriter::create(files_.manifest()));
        GYM_TRY(auto journal, IndexJournal::create(files_.journal()));
        writer_.emplace(std::move(tokens));
        manifest_.emplace(std::move(manifest));
        journal_.emplace(std::move(journal));
        GYM_CHECK(manifest_->append(to_line(head_)));
        // So that the copies of remote inputs are known to be of this build.
        return save_checkpoint();
    }

    void forget_copies() const {
        std::error_code ignored;
        fs::remove_all(files_.spool(), ignored);
        fs::create_directories(files_.spool(), ignored);
    }

    static std::uint64_t bytes_of(const Batch& batch) {
        std::uint64_t out = 0;
        for (const auto& item : batch.items)
            out += item.record.bytes.size();
        return out;
    }

    Status process(Batch& batch) {
        std::vector<Item> items(batch.items.size());
        for_each_index(items.size(), options_.threads,
                       [&](unsigned, std::size_t i) { items[i] = prepare_record(batch.items[i]); });
        for (std::size_t i = 0; i < items.size(); ++i)
            GYM_CHECK(judge(batch.items[i], items[i]));
        for_each_index(items.size(), options_.threads,
                       [&](unsigned thread, std::size_t i) { encode(items[i], thread); });
        for (const Item& item : items)
            GYM_CHECK(write(item));
        position_ = batch.end;
        return {};
    }

    [[nodiscard]] Item prepare_record(const Batch::Item& from) const {
        const Input& input = inputs_[from.input];
        Item out;
        Document document;
        if (input.format == Format::kText) {
            document.text = from.record.bytes;
        } else {
            auto read = document_of_json(from.record, options_.reader.keys);
            if (!read.ok()) {
                out.malformed = read.error();
                return out;
            }
            document = std::move(*read);
        }
        document.provenance.source = shown_name(input, from.record.number);
        if (document.text.size() > kDocumentBytesMax || document.text.empty()) {
            out.prepared.removed_by = "read";
            out.prepared.reason = document.text.empty() ? "empty" : "too long";
            return out;
        }
        out.prepared = prepare(std::move(document), options_.steps);
        return out;
    }

    /// In order, on one thread: what depends on the documents before.
    Status judge(const Batch::Item& from, Item& item) {
        ++counts_.documents_read;
        counts_.text_bytes_read += from.record.bytes.size();
        if (item.malformed) {
            const std::string where =
                inputs_[from.input].name + ":" + std::to_string(from.record.number);
            if (!options_.skip_malformed)
                return fail(item.malformed->code, where + ": " + item.malformed->message +
                                                      "; --skip-malformed leaves such records out");
            item.prepared.removed_by = "read";
            item.prepared.reason = "malformed";
        }
        Prepared& at = item.prepared;
        if (at.removed_by.empty() && (exact_ || near_)) {
            GYM_TRY(const Likeness likeness, index_->add(at.fingerprint));
            GYM_CHECK(journal_->append(at.fingerprint, likeness));
            if (likeness == Likeness::kExact) at.removed_by = name_of(Step::kExactDedup);
            if (likeness == Likeness::kNear) at.removed_by = name_of(Step::kMinhash);
        }
        count(at);
        return {};
    }

    void count(const Prepared& at) {
        for (const Step step : at.changed)
            if (step != Step::kMask || at.removed_by.empty())
                ++counts_.steps[std::string(name_of(step))].changed;
        if (at.removed_by.empty()) return;
        StepCount& step = counts_.steps[std::string(at.removed_by)];
        ++step.removed;
        if (!at.reason.empty()) ++step.reasons[std::string(at.reason)];
    }

    void encode(Item& item, unsigned thread) {
        if (!item.prepared.removed_by.empty()) return;
        const Status encoded = encoders_[thread]->encode(item.prepared.document.text, item.tokens);
        if (!encoded.ok())
            item.not_encoded = encoded.error().in(item.prepared.document.provenance.source);
        if (!encoded.ok() || !options_.rows || item.tokens.empty()) return;
        auto rows = padded_rows(std::move(item.tokens), end_of_text_, *options_.rows);
        if (rows.ok())
            item.tokens = *std::move(rows);
        else
            item.not_encoded = rows.error().in(item.prepared.document.provenance.source);
    }

    Status write(const Item& item) {
        const Prepared& at = item.prepared;
        if (!at.removed_by.empty()) return {};
        if (item.not_encoded) return *item.not_encoded;
        if (item.tokens.empty()) {  // such as a text of blanks alone
            StepCount& read = counts_.steps["read"];
            ++read.removed;
            ++read.reasons["no tokens"];
            return {};
        }
        if (writer_->tokens() > 0 && !head_.separator.empty())
            GYM_CHECK(writer_->append(head_.separator));
        const Provenance& from = at.document.provenance;
        GYM_CHECK(manifest_->append(
            to_line(ManifestDocument{.first = writer_->tokens(),
                                     .tokens = item.tokens.size(),
                                     .text_sha256 = at.text_sha256,
                                     .tokens_sha256 = tokens_sha256(tokenization_, item.tokens),
                                     .source = from.source,
                                     .id = from.id,
                                     .url = from.url,
                                     .licence = from.licence,
                                     .language = at.language,
                                     .consented = from.consented})));
        GYM_CHECK(writer_->append(item.tokens));
        ++counts_.documents_kept;
        counts_.text_bytes_kept += at.document.text.size();
        return {};
    }

    Status save_checkpoint() {
        GYM_CHECK(writer_->sync());
        GYM_CHECK(manifest_->sync());
        GYM_CHECK(journal_->sync());
        const std::string text = to_text({.identity = identity_,
                                          .position = position_,
                                          .tokens = writer_->tokens(),
                                          .manifest_bytes = manifest_->bytes(),
                                          .index_entries = journal_->entries(),
                                          .counts = counts_});
        GYM_CHECK(write_file_atomic(files_.checkpoint(), as_bytes(text)));
        since_checkpoint_ = 0;
        std::error_code ignored;
        for (; copies_removed_ < position_.input; ++copies_removed_)
            fs::remove(BatchReader::copy_of(files_.spool(), copies_removed_), ignored);
        return {};
    }

    void report_progress() const {
        if (!options_.progress) return;
        options_.progress({.inputs = inputs_.size(),
                           .inputs_done = position_.input,
                           .documents_read = counts_.documents_read,
                           .documents_kept = counts_.documents_kept,
                           .text_bytes_read = counts_.text_bytes_read,
                           .tokens = writer_->tokens()});
    }

    /// What to do if this stage removed most of the documents.
    static std::string advice_on(const std::string& stage, const StepCount& count) {
        if (stage == "opt-out")
            return "their records, --opt-out or their licence reserve them: take other documents";
        if (stage == "licence") return "none is under one of --licences: name theirs";
        if (stage == name_of(Step::kLanguage))
            return "none is in one of --languages: name theirs, or leave the step language out";
        if (stage != "read") return "choose other --steps than " + stage;
        if (count.reasons.contains("malformed"))
            return "most records cannot be read: --format says what they are";
        if (count.reasons.contains("too long")) return "most documents are too long: split them";
        return "most documents are empty: --text-key names the member that holds the text";
    }

    [[nodiscard]] Error nothing_left() const {
        std::string by, advice = "the inputs hold none";
        std::uint64_t most = 0;
        for (const std::string& name : stages_of(options_.steps)) {
            const auto found = counts_.steps.find(name);
            if (found == counts_.steps.end() || found->second.removed == 0) continue;
            const std::uint64_t removed = found->second.removed;
            by += (by.empty() ? "" : ", ") + name + " removed " + std::to_string(removed);
            if (removed <= most) continue;
            most = removed;
            advice = advice_on(name, found->second);
        }
        return fail(ErrorCode::kInvalidArgument,
                    "no document is left of " + std::to_string(counts_.documents_read) +
                        (by.empty() ? "" : " (" + by + ")") + "; " + advice);
    }

    Result<BuildReport> finish() {
        if (writer_->tokens() == 0) {
            std::error_code ignored;
            fs::remove_all(files_.folder, ignored);
            return nothing_left();
        }
        BuildReport out{.dataset = {},
                        .manifest = manifest_path(options_.output),
                        .manifest_root = {},
                        .counts = counts_,
                        .continued = continued_};
        GYM_CHECK(blob::DatasetSummary{.tokens = writer_->tokens()}.check_windows(
            options_.window_tokens));
        const fs::path whole = files_.folder / "whole";
        GYM_TRY(out.dataset, writer_->finish(whole));
        ManifestEnd end{.dataset_root = out.dataset.root,
                        .tokens = out.dataset.tokens,
                        .documents = counts_.documents_kept,
                        .removed = {}};
        for (const auto& [name, count] : counts_.steps)
            if (count.removed > 0) end.removed[name] = count.removed;
        GYM_CHECK(manifest_->append(to_line(end)));
        GYM_CHECK(manifest_->sync());
        out.manifest_root = manifest_->root();
        std::error_code error;
        fs::rename(files_.manifest(), out.manifest, error);
        if (!error) fs::rename(whole, options_.output, error);
        if (error)
            return fail(ErrorCode::kIo,
                        "cannot write " + options_.output.string() + ": " + error.message());
        fs::remove_all(files_.folder, error);
        return out;
    }

    const BuildOptions& options_;
    const std::vector<Input> inputs_;
    const WorkFiles files_;
    const bool exact_, near_;
    std::unique_ptr<DuplicateIndex> index_;
    std::vector<std::unique_ptr<Encoder>> encoders_;
    ManifestHead head_;
    blob::Tokenization tokenization_;
    std::optional<std::uint32_t> end_of_text_;
    std::string identity_;
    std::optional<blob::DatasetWriter> writer_;
    std::optional<ManifestWriter> manifest_;
    std::optional<IndexJournal> journal_;
    Position position_;
    BuildCounts counts_;
    std::uint64_t since_checkpoint_ = 0;
    std::uint64_t copies_removed_ = 0;
    bool continued_ = false;
};

Result<std::vector<Input>> expand_inputs(const BuildOptions& options) {
    std::vector<Input> out;
    std::optional<Remote> remote;
    for (const std::string& name : options.inputs) {
        if (is_remote(name) && !remote) remote.emplace(options.remote);
        GYM_TRY(auto found, is_remote(name) ? remote->expand(name, options.reader)
                                            : expand_local(name, options.reader));
        std::ranges::move(found, std::back_inserter(out));
        if (out.size() > kInputsMax)
            return fail(ErrorCode::kOutOfRange,
                        "more than " + std::to_string(kInputsMax) + " input files");
    }
    if (out.empty()) return fail(ErrorCode::kInvalidArgument, "no input is named");
    return out;
}

}  // namespace

std::vector<std::string> stages_of(const StepOptions& options) {
    std::vector<std::string> out{"read", "opt-out", "licence"};
    out.reserve(out.size() + options.steps.size());
    for (const Step step : options.steps)
        out.emplace_back(name_of(step));
    return out;
}

Result<BuildReport> build(const BuildOptions& options) {
    GYM_CHECK(check(options.steps));
    if (options.threads < 1 || options.threads > kThreadsMax)
        return fail(ErrorCode::kInvalidArgument,
                    "threads must be 1 to " + std::to_string(kThreadsMax));
    if (options.rows && options.rows->padding >= blob::kVocabularyMax)
        return fail(ErrorCode::kInvalidArgument, "the padding token must be below 2^20");
    GYM_TRY(auto inputs, expand_inputs(options));
    return Builder(options, std::move(inputs)).run();
}

}  // namespace gym::data
