#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gym/common/result.hpp"

namespace gym::app {

struct TorrentsOptions {
    std::filesystem::path folder;
    std::string address;
    std::uint16_t port = 0;
    std::uint64_t upload_bytes_per_s_max = 0;
    std::uint32_t connections_max = 60;
};

/// libtorrent, and nothing of it in this header. Version 2 torrents of one file, which is
/// FOLDER/ROOT. No DHT, no exchange of peers, no local discovery, no mapping of ports, TCP alone.
/// Roots are those given to add(). Not thread-safe.
class Torrents {
  public:
    /// Something that happened since the last poll().
    struct Event {
        enum class Kind {
            kChecked,  ///< the file was looked through
            kPiece,    ///< `index` is in the file and fits the torrent
            kFailed,   ///< the disk, or the torrent; it is stopped
            kWarning,  ///< of a tracker, or a peer that sent wrong bytes; root may be empty
        };
        Kind kind;
        std::string root;
        std::uint64_t index = 0;
        std::string text;
    };
    struct State {
        bool is_seeding = false;
        std::uint64_t sent_bytes = 0;  ///< since add()
        std::uint32_t peers = 0;
    };

    /// @errors kUnavailable: it cannot listen there, and why.
    [[nodiscard]] static Result<std::unique_ptr<Torrents>> start(const TorrentsOptions& options);
    virtual ~Torrents() = default;

    [[nodiscard]] virtual std::uint16_t port() const = 0;
    /// Readable when poll() has something.
    [[nodiscard]] virtual int wake_descriptor() const = 0;
    [[nodiscard]] virtual std::vector<Event> poll() = 0;

    /// @errors kMalformed for the file; kAlreadyExists.
    virtual Status add(const std::string& root, const std::filesystem::path& torrent_file,
                       const std::string& tracker) = 0;
    /// @param erase the file, too, once nothing is written to it any more; else it stays.
    virtual void remove(const std::string& root, bool erase) = 0;
    /// A piece that came from elsewhere. It is checked and written like one of a peer.
    /// @return false: it is there already.
    virtual bool give(const std::string& root, std::uint64_t index, std::vector<char> bytes) = 0;
    [[nodiscard]] virtual State state(const std::string& root) const = 0;
    /// Pieces that connected peers have, as hexadecimal digits, the first piece the highest bit.
    [[nodiscard]] virtual std::string available(const std::string& root) const = 0;
};

}  // namespace gym::app
