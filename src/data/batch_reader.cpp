#include "batch_reader.hpp"

#include <utility>

#include "gym/data/build.hpp"

namespace gym::data {

BatchReader::BatchReader(const std::vector<Input>& inputs, const ReaderOptions& reader,
                         RemoteOptions remote, std::filesystem::path spool, Position start)
    : inputs_(inputs),
      options_(reader),
      spool_(std::move(spool)),
      remote_options_(std::move(remote)),
      at_(start),
      skip_(start.records) {
    const auto asked = remote_options_.stopped;
    remote_options_.stopped = [this, asked] { return stopping() || (asked && asked()); };
    thread_ = std::jthread([this] { run(); });
}

BatchReader::~BatchReader() {
    {
        const std::scoped_lock lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
}

std::filesystem::path BatchReader::copy_of(const std::filesystem::path& spool, std::size_t input) {
    return spool / std::to_string(input);
}

bool BatchReader::stopping() const {
    const std::scoped_lock lock(mutex_);
    return stopping_;
}

Batch BatchReader::next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ready_.has_value(); });
    Batch out = std::move(*ready_);
    ready_.reset();
    lock.unlock();
    changed_.notify_all();
    return out;
}

bool BatchReader::hand_over(Batch batch) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !ready_ || stopping_; });
    if (stopping_) return false;
    ready_ = std::move(batch);
    lock.unlock();
    changed_.notify_all();
    return true;
}

void BatchReader::run() {
    while (true) {
        Batch batch;
        const Status filled = fill(batch);
        if (!filled.ok()) batch.error = filled.error();
        batch.end = at_;
        batch.last = at_.input == inputs_.size();
        const bool done = batch.last || batch.error;
        if (!hand_over(std::move(batch)) || done) return;
    }
}

Status BatchReader::open_next() {
    const Input& input = inputs_[at_.input];
    std::filesystem::path path = input.path;
    if (!input.url.empty()) {
        path = copy_of(spool_, at_.input);
        if (!remote_) remote_.emplace(remote_options_);
        GYM_CHECK(remote_->download(input, path));
    }
    auto opened = open_records(input, path, options_);
    if (!opened.ok()) return opened.error().in(input.name);
    reader_ = std::move(*opened);
    Record passed;
    for (std::uint64_t i = 0; i < skip_; ++i) {
        auto more = reader_->next(passed);
        if (!more.ok()) return more.error().in(input.name);
        if (!*more)
            return fail(ErrorCode::kConflict, input.name +
                                                  " has become shorter since the build "
                                                  "began: remove the .work folder");
    }
    skip_ = 0;
    return {};
}

Status BatchReader::fill(Batch& batch) {
    std::size_t bytes = 0;
    while (at_.input < inputs_.size() && bytes < kBatchBytesMax &&
           batch.items.size() < kBatchRecordsMax && !stopping()) {
        if (!reader_) GYM_CHECK(open_next());
        Batch::Item item{at_.input, {}};
        auto more = reader_->next(item.record);
        if (!more.ok()) return more.error().in(inputs_[at_.input].name);
        if (!*more) {
            reader_.reset();
            at_ = {at_.input + 1, 0};
            continue;
        }
        ++at_.records;
        bytes += item.record.bytes.size();
        batch.items.push_back(std::move(item));
    }
    return {};
}

}  // namespace gym::data
