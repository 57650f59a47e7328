#include "gym/coordinator/public_blobs.hpp"

#include "gym/registry/blob_access.hpp"

namespace gym::coordinator {
namespace {

Error no_public_blob(const Digest& root) {
    return fail(ErrorCode::kNotFound, "there is no public blob " + root.hex());
}

}  // namespace

Status PublicBlobs::check_public(const Digest& root) {
    const UnixMs now_ms = clock_.now_ms();
    {
        const std::scoped_lock lock(mutex_);
        while (!answers_by_age_.empty() && (answers_by_age_.front().first + kAnswerMs <= now_ms ||
                                            answers_by_age_.size() > kAnswersMax)) {
            answers_.erase(answers_by_age_.front().second);
            answers_by_age_.pop_front();
        }
        if (const auto known = answers_.find(root); known != answers_.end())
            return known->second ? Status() : Status(no_public_blob(root));
    }
    GYM_TRY(
        const bool is_public,
        database_.transact([&](db::Transaction& tx) { return registry::is_public_blob(tx, root); },
                           {.read_only = true}));
    const std::scoped_lock lock(mutex_);
    if (answers_.emplace(root, is_public).second) answers_by_age_.emplace_back(now_ms, root);
    return is_public ? Status() : Status(no_public_blob(root));
}

Result<std::shared_ptr<const blob::BlobReader>> PublicBlobs::open(const Digest& root,
                                                                  const mirror::Asker&) {
    // First the store: roots that strangers make up cost no query.
    auto reader = blobs_.open_reader(root);
    if (!reader.ok() && reader.error().code == ErrorCode::kNotFound) return no_public_blob(root);
    GYM_CHECK(check_public(root));
    if (reader.ok()) return std::shared_ptr<const blob::BlobReader>(std::move(reader).value());
    return reader.error();
}

std::shared_ptr<const blob::PieceList> PublicBlobs::known_list(const Digest& root) {
    const std::scoped_lock lock(mutex_);
    const auto found = lists_.find(root);
    return found == lists_.end() ? nullptr : found->second;
}

void PublicBlobs::remember(std::shared_ptr<const blob::PieceList> list) {
    const std::scoped_lock lock(mutex_);
    const Digest root = list->root();
    const std::uint64_t bytes = blob::piece_list_bytes(list->size_bytes());
    if (!lists_.emplace(root, std::move(list)).second) return;
    lists_bytes_ += bytes;
    lists_by_age_.push_back(root);
    while (lists_bytes_ > kListsBytesMax && lists_by_age_.size() > 1) {
        const auto oldest = lists_.find(lists_by_age_.front());
        lists_bytes_ -= blob::piece_list_bytes(oldest->second->size_bytes());
        lists_.erase(oldest);
        lists_by_age_.pop_front();
    }
}

Result<std::shared_ptr<const blob::PieceList>> PublicBlobs::pieces(const Digest& root,
                                                                   const mirror::Asker& asker) {
    GYM_TRY(const auto reader, open(root, asker));
    if (auto known = known_list(root)) return known;
    const std::scoped_lock lock(computing_);
    if (auto known = known_list(root)) return known;
    GYM_TRY(blob::PieceList list, blob::PieceList::of(*reader));
    if (list.root() != root)
        return fail(ErrorCode::kIo, "blob " + root.hex() + " is altered or cut on the disk: its " +
                                        std::to_string(list.size_bytes()) + " bytes hash to " +
                                        list.root().hex());
    auto shared = std::make_shared<const blob::PieceList>(std::move(list));
    remember(shared);
    return shared;
}

}  // namespace gym::coordinator
