#pragma once

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "gym/blob/piece_list.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/descriptor.hpp"
#include "gym/common/result.hpp"
#include "gym/mirror/torrents.hpp"

namespace gym::torrent {

/// One blob in a node's folder of torrents: which pieces are in its file, which came, and which the
/// connected peers have. Thread-safe.
class Membership {
  public:
    /// Opens the file, or makes it. @errors kIo.
    [[nodiscard]] static Result<std::shared_ptr<Membership>> open(const std::filesystem::path& file,
                                                                  const Digest& root,
                                                                  std::uint64_t size_bytes);

    [[nodiscard]] const Digest& root() const { return root_; }
    [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }

    /// A piece is in the file, says gym-torrent. @param by_peer false: it was there before.
    void arrived(std::uint64_t index, bool by_peer);
    /// Which pieces the connected peers have. Bits that are none change nothing.
    void set_have(std::string_view hex);
    /// Nothing comes any more, and nothing is taken.
    void end();
    [[nodiscard]] bool is_over() const;

    /// The bytes of a piece that arrived, from the file, unchecked; waits for one.
    [[nodiscard]] std::optional<mirror::Peers::Piece> take(std::chrono::milliseconds wait);
    [[nodiscard]] bool have(std::uint64_t index) const;
    /// Writes a piece that came from elsewhere into the file. @return whether gym-torrent should be
    /// told: it is news. @errors kIo.
    Result<bool> write(std::uint64_t index, ByteView bytes);
    /// The piece in the file is right.
    void note_right(std::uint64_t index);
    /// Whether every piece in the file is right.
    [[nodiscard]] bool is_whole() const;

  private:
    Membership(std::filesystem::path path, Descriptor file, const Digest& root,
               std::uint64_t size_bytes);
    [[nodiscard]] Result<Bytes> read(std::uint64_t index) const;

    const std::filesystem::path path_;
    const Descriptor file_;
    const Digest root_;
    const std::uint64_t size_bytes_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::pair<std::uint64_t, bool>> arrived_;
    std::vector<bool> right_, have_;
    std::size_t right_count_ = 0;
    bool over_ = false;
};

}  // namespace gym::torrent
