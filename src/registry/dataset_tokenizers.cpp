#include "gym/registry/dataset_tokenizers.hpp"

namespace gym::registry {

Result<AddedTokenizer> add_dataset_tokenizer(db::Transaction& tx, const DatasetTokenizer& given) {
    GYM_TRY(const db::Rows inserted,
            tx.exec("INSERT INTO registry.dataset_tokenizer (dataset, blob, bytes, added_at_ms) "
                    "VALUES ($1, $2, $3, $4) ON CONFLICT (dataset) DO NOTHING",
                    {given.dataset, given.blob, given.bytes, given.added_at_ms}));
    if (inserted.affected() == 1) return AddedTokenizer{given, true};
    GYM_TRY(const auto stored, find_dataset_tokenizer(tx, given.dataset));
    if (stored && stored->blob == given.blob) return AddedTokenizer{*stored, false};
    return fail(ErrorCode::kConflict, "dataset " + given.dataset.hex() +
                                          " has other tokenizer files already: they never change");
}

Result<std::optional<DatasetTokenizer>> find_dataset_tokenizer(db::Transaction& tx,
                                                               const Digest& dataset) {
    GYM_TRY(const auto row, tx.exec_optional("SELECT blob, bytes, added_at_ms FROM "
                                             "registry.dataset_tokenizer WHERE dataset = $1",
                                             {dataset}));
    if (!row) return std::optional<DatasetTokenizer>();
    return std::optional(DatasetTokenizer{dataset, row->get<Digest>("blob"),
                                          row->get<std::uint64_t>("bytes"),
                                          row->get<UnixMs>("added_at_ms")});
}

}  // namespace gym::registry
