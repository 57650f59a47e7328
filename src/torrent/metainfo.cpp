#include "gym/torrent/metainfo.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "gym/blob/piece_list.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/common/assert.hpp"

namespace gym::torrent {
namespace {

constexpr std::size_t kBlockBytes = 16 << 10;
constexpr std::size_t kBlocksInPiece = blob::kPieceBytes / kBlockBytes;
static_assert(kBlocksInPiece * kBlockBytes == blob::kPieceBytes && kBlocksInPiece == 64);
constexpr std::size_t kUrlBytesMax = 600;
constexpr std::string_view kAnnounce = "8:announce";
constexpr std::string_view kUrlList = "8:url-list";

Digest parent(const Digest& left, const Digest& right) {
    return commit::Hasher().update(left).update(right).finish();
}

/// The root over `nodes`, filled up with `pad` to a power of two (BEP 52).
Digest fold(std::vector<Digest> nodes, Digest pad) {
    while (nodes.size() > 1) {
        if (nodes.size() % 2 != 0) nodes.push_back(pad);
        for (std::size_t i = 0; i < nodes.size() / 2; ++i)
            nodes[i] = parent(nodes[2 * i], nodes[2 * i + 1]);
        nodes.resize(nodes.size() / 2);
        pad = parent(pad, pad);
    }
    return nodes.front();
}

/// Blocks behind the file's end have the hash zero.
Digest piece_hash(ByteView piece) {
    std::vector<Digest> blocks;
    for (std::size_t at = 0; at < piece.size(); at += kBlockBytes)
        blocks.push_back(
            commit::sha256(piece.subspan(at, std::min(kBlockBytes, piece.size() - at))));
    blocks.resize(kBlocksInPiece);
    return fold(std::move(blocks), Digest());
}

Digest pieces_root_of(const std::vector<Digest>& pieces) {
    return fold(pieces, fold(std::vector<Digest>(kBlocksInPiece), Digest()));
}

void append(std::string& out, const Digest& digest) {
    out.append(reinterpret_cast<const char*>(digest.view().data()), Digest::kSize);
}

std::string text_of(std::string_view text) {
    return std::to_string(text.size()) + ":" + std::string(text);
}

/// Reads a file that has one form only.
class Cursor {
  public:
    Cursor(const Digest& root, ByteView bytes)
        : root_(root), text_(reinterpret_cast<const char*>(bytes.data()), bytes.size()) {}

    [[nodiscard]] bool starts_with(std::string_view what) const {
        return text_.substr(at_).starts_with(what);
    }
    Status expect(std::string_view what) {
        if (!starts_with(what))
            return malformed("'" + std::string(what.substr(0, 40)) + "' is expected");
        at_ += what.size();
        return {};
    }
    Result<std::string_view> take(std::size_t size) {
        if (size > text_.size() - at_) return malformed("it ends early");
        at_ += size;
        return text_.substr(at_ - size, size);
    }
    Result<Digest> digest() {
        GYM_TRY(const std::string_view raw, take(Digest::kSize));
        return Digest::from(as_bytes(raw));
    }
    /// The text behind `key`, if it is there.
    Status skip_text(std::string_view key) {
        if (!starts_with(key)) return {};
        at_ += key.size();
        GYM_TRY(const std::uint64_t size, number(':'));
        if (size > kUrlBytesMax) return malformed("an address is too long");
        GYM_TRY(const std::string_view skipped, take(static_cast<std::size_t>(size)));
        static_cast<void>(skipped);
        return {};
    }
    /// Decimal digits up to `end`, which is passed.
    Result<std::uint64_t> number(char end) {
        const std::string_view rest = text_.substr(at_);
        std::uint64_t value = 0;
        const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
        const auto digits = static_cast<std::size_t>(stop - rest.data());
        if (error != std::errc() || digits == rest.size() || *stop != end ||
            std::to_string(value).size() != digits)
            return malformed("a number is expected");
        at_ += digits + 1;
        return value;
    }
    Status at_end() {
        return at_ == text_.size() ? Status() : Status(malformed("there are bytes behind its end"));
    }
    [[nodiscard]] Error malformed(const std::string& why) const {
        return fail(ErrorCode::kMalformed, "the torrent of blob " + root_.hex() + ", byte " +
                                               std::to_string(at_) + " of " +
                                               std::to_string(text_.size()) + ": " + why);
    }
    [[nodiscard]] Error mismatch(const std::string& why) const {
        return fail(ErrorCode::kMismatch, "the torrent of blob " + root_.hex() + " " + why);
    }

  private:
    const Digest& root_;
    const std::string_view text_;
    std::size_t at_ = 0;
};

Status take_name(Cursor& in, const std::string& name) {
    GYM_TRY(const std::string_view named, in.take(name.size()));
    if (named != name) return in.mismatch("names another blob");
    return {};
}

/// @return the pieces root that the info dictionary has.
Result<Digest> read_info(Cursor& in, const std::string& name, std::uint64_t size_bytes) {
    GYM_CHECK(in.expect("4:infod9:file treed64:"));
    GYM_CHECK(take_name(in, name));
    GYM_CHECK(in.expect("d0:d6:lengthi"));
    GYM_TRY(const std::uint64_t length, in.number('e'));
    if (length != size_bytes)
        return in.mismatch("is of " + std::to_string(length) + " bytes, the blob has " +
                           std::to_string(size_bytes));
    GYM_CHECK(in.expect("11:pieces root32:"));
    GYM_TRY(const Digest pieces_root, in.digest());
    GYM_CHECK(in.expect("eee12:meta versioni2e4:name64:"));
    GYM_CHECK(take_name(in, name));
    GYM_CHECK(in.expect("12:piece lengthi1048576e7:privatei1ee"));
    return pieces_root;
}

}  // namespace

Metainfo::Metainfo(const Digest& root, std::uint64_t size_bytes, std::vector<Digest> pieces)
    : root_(root),
      size_bytes_(size_bytes),
      pieces_(std::move(pieces)),
      pieces_root_(pieces_root_of(pieces_)) {}

Result<Metainfo> Metainfo::of(const Digest& root, const blob::BlobReader& blob) {
    GYM_ASSERT(is_shared(blob.size()), "a blob of several pieces");
    std::vector<Digest> pieces;
    Bytes piece;
    for (std::uint64_t at = 0; at < blob.size(); at += piece.size()) {
        piece.resize(
            static_cast<std::size_t>(std::min<std::uint64_t>(blob::kPieceBytes, blob.size() - at)));
        GYM_CHECK(blob.read(at, piece));
        pieces.push_back(piece_hash(piece));
    }
    return Metainfo(root, blob.size(), std::move(pieces));
}

Result<Metainfo> Metainfo::decode(const Digest& root, std::uint64_t size_bytes, ByteView bytes) {
    Cursor in(root, bytes);
    const std::string name = to_hex(root.view());
    GYM_CHECK(in.expect("d"));
    GYM_CHECK(in.skip_text(kAnnounce));
    GYM_TRY(const Digest pieces_root, read_info(in, name, size_bytes));
    GYM_CHECK(in.expect("12:piece layersd32:"));
    GYM_TRY(const Digest layer_of, in.digest());
    std::vector<Digest> pieces(static_cast<std::size_t>(blob::piece_count(size_bytes)));
    GYM_CHECK(in.expect(std::to_string(pieces.size() * Digest::kSize) + ":"));
    for (Digest& piece : pieces) {
        GYM_TRY(piece, in.digest());
    }
    GYM_CHECK(in.expect("e"));
    GYM_CHECK(in.skip_text(kUrlList));
    GYM_CHECK(in.expect("e"));
    GYM_CHECK(in.at_end());
    Metainfo out(root, size_bytes, std::move(pieces));
    if (out.pieces_root_ != pieces_root || layer_of != pieces_root)
        return in.mismatch("has a piece layer that is not of its pieces root");
    return out;
}

std::string Metainfo::info() const {
    const std::string name = to_hex(root_.view());
    std::string out = "d9:file treed64:" + name + "d0:d6:lengthi" + std::to_string(size_bytes_) +
                      "e11:pieces root32:";
    append(out, pieces_root_);
    return out + "eee12:meta versioni2e4:name64:" + name + "12:piece lengthi1048576e7:privatei1ee";
}

Bytes Metainfo::encode(const std::string& mirror) const {
    std::string out = "d";
    if (!mirror.empty()) out += std::string(kAnnounce) + text_of(mirror + "/announce");
    out += "4:info" + info() + "12:piece layersd32:";
    append(out, pieces_root_);
    out += std::to_string(pieces_.size() * Digest::kSize) + ":";
    for (const Digest& piece : pieces_)
        append(out, piece);
    out += "e";
    if (!mirror.empty())
        out += std::string(kUrlList) + text_of(mirror + "/b/");  // BEP 19: the name is appended
    out += "e";
    return {out.begin(), out.end()};
}

Digest Metainfo::info_hash() const {
    return commit::sha256(as_bytes(info()));
}

}  // namespace gym::torrent
