#include "delta_window.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include "gym/codec/row_layout.hpp"

namespace gym::engine {
namespace {

std::uint64_t rounded_down(std::uint64_t byte) {
    return byte / kDeltaReadBytes * kDeltaReadBytes;
}

}  // namespace

DeltaWindow::DeltaWindow(const Delta& delta) : delta_(&delta) {
    if (delta.stored() == nullptr) bytes_ = delta.bytes();
}

Status DeltaWindow::show(const ParameterPart& part) {
    const blob::BlobReader* const stored = delta_->stored();
    if (stored == nullptr) return {};
    const DeltaSpan span = delta_->layout().span_of(part);
    const std::uint64_t begin = rounded_down(span.begin);
    const std::uint64_t end =
        std::min(rounded_down(span.begin + span.size + kDeltaReadBytes - 1), stored->size());
    const std::uint64_t here = bytes_.begin + bytes_.bytes.size();  // behind the last byte
    const bool continues = begin >= bytes_.begin && begin < here;
    const std::uint64_t kept = continues ? std::min(here, end) - begin : 0;
    if (kept > 0) std::memmove(buffer_.data(), &buffer_[begin - bytes_.begin], kept);
    buffer_.resize(end - begin);
    bytes_ = {begin, ByteView(buffer_).first(kept)};
    const auto read = stored->read(begin + kept, std::span(buffer_).subspan(kept));
    if (!read.ok()) return read.error().in("delta " + delta_->root().hex());
    bytes_.bytes = buffer_;
    return {};
}

std::uint64_t shown_together(const Delta& delta, const ParameterPart& part) {
    if (delta.stored() == nullptr) return part.count;
    const DeltaLayout& layout = delta.layout();
    const DeltaSpan all = layout.span_of(part);
    const std::uint64_t end = rounded_down(all.begin) + kDeltaReadBytes;
    if (all.begin + all.size <= end) return part.count;
    const std::uint64_t rows =
        layout.codec() == program::DeltaCodec::kDense
            ? (end / codec::kChunkOfRowsBytes - all.begin / codec::kChunkOfRowsBytes) *
                      codec::kRowsOfChunk -
                  all.begin % codec::kChunkOfRowsBytes / codec::kRowBytes
            : (end - all.begin) / (codec::kRowElements * sizeof(float));
    return std::min(std::max<std::uint64_t>(rows, 1) * codec::kRowElements, part.count);
}

}  // namespace gym::engine
