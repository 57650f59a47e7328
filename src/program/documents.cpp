#include "documents.hpp"

#include <string>

namespace gym::program {

SlotId document_numbers(ModelWriter& w, SlotId tokens) {
    if (!w.config.document_separator) return kNoSlot;
    const std::uint32_t context = w.config.context;
    const SlotId ends = w.rows_of_token("is_separator", *w.config.document_separator, tokens);
    const std::uint32_t rows = w.b.slot(ends).dims[0];
    const SlotId by_window = w.b.strided_copy(ends, {rows / context, context}, 0, {context, 1});
    const SlotId one = w.b.scalar(1.0F);
    const SlotId ones = w.b.strided_copy(one, {context, context}, 0, {0, 0});
    // A product with a triangle of ones is a running sum: exact, up to 2^20 tokens.
    const SlotId ended = w.b.matmul(by_window, w.b.causal_fill(ones, 0.0F));
    const SlotId before = w.b.sub(ended, by_window);
    return w.b.strided_copy(before, {rows, 1}, 0, {1, 0});
}

SlotId decoder_attention(ModelWriter& w, SlotId qkv, SlotId documents) {
    const std::uint32_t context = w.config.context, heads = w.config.heads;
    if (documents == kNoSlot) return w.b.attention(qkv, context, heads);
    return w.b.attention_documents(qkv, documents, context, heads);
}

}  // namespace gym::program
