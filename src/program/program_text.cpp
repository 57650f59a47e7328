#include "gym/program/program_text.hpp"

#include <openssl/evp.h>
#include <zlib.h>

#include <algorithm>

#include "gym/program/codec.hpp"

namespace gym::program {
namespace {

constexpr std::size_t kGroup = 3, kGroupText = 4;  // bytes, and their letters in base64

std::string to_base64(ByteView bytes) {
    std::string out((bytes.size() + kGroup - 1) / kGroup * kGroupText + 1, '\0');
    const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), bytes.data(),
                                     static_cast<int>(bytes.size()));
    out.resize(static_cast<std::size_t>(size));
    return out;
}

Result<Bytes> from_base64(std::string_view text) {
    const Error malformed = fail(ErrorCode::kMalformed, "the program is not base64");
    if (text.empty() || text.size() % kGroupText != 0) return malformed;
    Bytes out(text.size() / kGroupText * kGroup);
    const int size =
        EVP_DecodeBlock(out.data(), reinterpret_cast<const unsigned char*>(text.data()),
                        static_cast<int>(text.size()));
    if (size < 0) return malformed;
    const auto padding = static_cast<std::size_t>(std::ranges::count(text, '='));
    if (padding >= kGroup) return malformed;
    out.resize(static_cast<std::size_t>(size) - padding);
    // Strict: the letters are those of these bytes.
    if (to_base64(out) != text) return malformed;
    return out;
}

Result<Bytes> inflated(ByteView packed) {
    Bytes out(std::min(kTextProgramBytesMax, std::max<std::size_t>(packed.size() * 4, 4096)));
    z_stream stream{};
    if (::inflateInit(&stream) != Z_OK) return fail(ErrorCode::kInternal, "zlib does not start");
    // zlib does not write to its input.
    stream.next_in = const_cast<Bytef*>(packed.data());
    stream.avail_in = static_cast<uInt>(packed.size());
    int state = Z_OK;
    while (true) {
        stream.next_out = out.data() + stream.total_out;
        stream.avail_out = static_cast<uInt>(out.size() - stream.total_out);
        state = ::inflate(&stream, Z_NO_FLUSH);
        if (state != Z_OK || stream.avail_out != 0 || out.size() == kTextProgramBytesMax) break;
        out.resize(std::min(kTextProgramBytesMax, out.size() * 2));
    }
    const std::size_t size = stream.total_out;
    const bool all = stream.avail_in == 0, full = stream.avail_out == 0;
    ::inflateEnd(&stream);
    if (state != Z_STREAM_END && full && size == kTextProgramBytesMax)
        return fail(ErrorCode::kOutOfRange,
                    "the program has more than " + std::to_string(kTextProgramBytesMax) + " bytes");
    if (state != Z_STREAM_END || !all)
        return fail(ErrorCode::kMalformed, "the program's compressed bytes are damaged");
    out.resize(size);
    return out;
}

std::string sizes_of(const Program& program) {
    std::size_t constants = 0;
    for (const Slot& slot : program.slots())
        constants += slot.value.size();
    return std::to_string(program.ops().size()) + " ops and " + std::to_string(constants) +
           " bytes of constants (buffers and tables of the model)";
}

}  // namespace

Result<std::string> program_text(const Program& program) {
    const Bytes file = encode(program);
    if (file.size() > kTextProgramBytesMax)
        return fail(ErrorCode::kOutOfRange,
                    "the program has " + std::to_string(file.size()) + " bytes, a job holds " +
                        std::to_string(kTextProgramBytesMax) + " at most: " + sizes_of(program));
    uLongf size = ::compressBound(file.size());
    Bytes packed(size);
    if (::compress2(packed.data(), &size, file.data(), file.size(), Z_BEST_COMPRESSION) != Z_OK)
        return fail(ErrorCode::kInternal, "zlib cannot compress the program");
    packed.resize(size);
    std::string text = to_base64(packed);
    if (text.size() <= kProgramTextBytesMax) return text;
    return fail(ErrorCode::kOutOfRange,
                "the compressed program has " + std::to_string(text.size()) +
                    " characters, a job holds " + std::to_string(kProgramTextBytesMax) +
                    " at most: " + sizes_of(program));
}

Result<Program> parse_program_text(std::string_view text) {
    if (text.size() > kProgramTextBytesMax)
        return fail(ErrorCode::kOutOfRange, "the program's text has more than " +
                                                std::to_string(kProgramTextBytesMax) +
                                                " characters");
    GYM_TRY(const Bytes packed, from_base64(text));
    GYM_TRY(const Bytes file, inflated(packed));
    return decode(file);
}

}  // namespace gym::program
