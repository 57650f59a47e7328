#pragma once

#include <cstdint>
#include <optional>

#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/db/database.hpp"

namespace gym::registry {

/// The files of a dataset's tokenizer, as its owner gave them. They never change.
struct DatasetTokenizer {
    Digest dataset;
    Digest blob;  ///< of tokenizer::encode_bundle()
    std::uint64_t bytes = 0;
    UnixMs added_at_ms = 0;
};
struct AddedTokenizer {
    DatasetTokenizer tokenizer;
    bool is_new = false;
};

/// Adding the same bytes again changes nothing. @errors kConflict if the dataset has others.
Result<AddedTokenizer> add_dataset_tokenizer(db::Transaction& tx, const DatasetTokenizer& given);
Result<std::optional<DatasetTokenizer>> find_dataset_tokenizer(db::Transaction& tx,
                                                               const Digest& dataset);

}  // namespace gym::registry
