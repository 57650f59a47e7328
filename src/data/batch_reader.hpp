#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "gym/data/input.hpp"
#include "gym/data/remote.hpp"

namespace gym::data {

/// How far a build has read: so many records of this input, and all inputs before.
struct Position {
    std::uint64_t input = 0;
    std::uint64_t records = 0;
    friend bool operator==(const Position&, const Position&) = default;
};

struct Batch {
    struct Item {
        std::size_t input = 0;
        Record record;
    };
    std::vector<Item> items;
    Position end;                ///< behind the last item
    std::optional<Error> error;  ///< what ended the reading after the items
    bool last = false;
};

/// Reads inputs one after the other in a thread of its own, at most one batch ahead.
class BatchReader {
  public:
    /// @param spool where copies of remote inputs are, as spool/NUMBER. The references outlive it.
    BatchReader(const std::vector<Input>& inputs, const ReaderOptions& reader, RemoteOptions remote,
                std::filesystem::path spool, Position start);
    ~BatchReader();
    BatchReader(const BatchReader&) = delete;
    BatchReader& operator=(const BatchReader&) = delete;

    /// The next batch; nothing may be asked after `last` or an error.
    [[nodiscard]] Batch next();
    [[nodiscard]] static std::filesystem::path copy_of(const std::filesystem::path& spool,
                                                       std::size_t input);

  private:
    void run();
    /// Fills a batch. @errors end the reading.
    Status fill(Batch& batch);
    Status open_next();
    bool hand_over(Batch batch);
    [[nodiscard]] bool stopping() const;

    const std::vector<Input>& inputs_;
    const ReaderOptions& options_;
    std::filesystem::path spool_;
    std::optional<Remote> remote_;
    RemoteOptions remote_options_;
    Position at_;
    std::uint64_t skip_ = 0;  ///< records to pass over in the next input
    std::unique_ptr<RecordReader> reader_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<Batch> ready_;
    bool stopping_ = false;
    std::jthread thread_;
};

}  // namespace gym::data
