#include <algorithm>

#include "gym/chain/abi.hpp"

namespace gym::chain {

/// Reaches into AbiValue for the encoder.
struct AbiCodec {
    template <class T>
    static const T* get(const AbiValue& value) {
        return std::get_if<T>(&value.value_);
    }
};

namespace {

using Kind = AbiType::Kind;
constexpr std::size_t kWord = 32;

Error malformed(const std::string& why) {
    return fail(ErrorCode::kMalformed, "ABI: " + why);
}
Error misfit(const AbiType& type, const AbiValue& value) {
    return fail(ErrorCode::kInvalidArgument,
                "ABI: " + value.to_string() + " is not of type " + type.to_string());
}

std::size_t padded(std::size_t size) {
    return (size + kWord - 1) / kWord * kWord;
}

/// Bytes that a value of a static type takes, or 32 (an offset) for a dynamic one.
std::size_t head_size(const AbiType& type) {
    if (type.is_dynamic()) return kWord;
    if (type.kind == Kind::kFixedArray) return type.size * head_size(type.children[0]);
    if (type.kind != Kind::kTuple) return kWord;
    std::size_t out = 0;
    for (const AbiType& child : type.children)
        out += head_size(child);
    return out;
}

void append_word(Bytes& out, const Amount& value) {
    const auto word = value.to_be32();
    out.insert(out.end(), word.begin(), word.end());
}

bool fits(const Amount& value, std::size_t bits) {
    const auto bytes = value.to_be32();
    return std::all_of(bytes.begin(), bytes.end() - static_cast<std::ptrdiff_t>(bits / 8),
                       [](std::uint8_t byte) { return byte == 0; });
}

Status encode_sequence(Bytes& out, const std::vector<const AbiType*>& types,
                       const AbiValue::List& values);

Status encode_list(Bytes& out, const AbiType& type, const AbiValue& value) {
    const auto* items = AbiCodec::get<AbiValue::List>(value);
    if (items == nullptr) return misfit(type, value);
    std::vector<const AbiType*> types;
    if (type.kind == Kind::kTuple) {
        for (const AbiType& child : type.children)
            types.push_back(&child);
    } else {
        types.assign(items->size(), &type.children[0]);
    }
    const std::size_t expected = type.kind == Kind::kFixedArray ? type.size : types.size();
    if (items->size() != expected) return misfit(type, value);
    if (type.kind == Kind::kArray) append_word(out, Amount(items->size()));
    return encode_sequence(out, types, *items);
}

Status encode_value(Bytes& out, const AbiType& type, const AbiValue& value) {
    switch (type.kind) {
        case Kind::kUint: {
            const auto* number = AbiCodec::get<Amount>(value);
            if (number == nullptr || !fits(*number, type.size)) return misfit(type, value);
            append_word(out, *number);
            return {};
        }
        case Kind::kBool: {
            const auto* flag = AbiCodec::get<bool>(value);
            if (flag == nullptr) return misfit(type, value);
            append_word(out, Amount(*flag ? 1 : 0));
            return {};
        }
        case Kind::kAddress: {
            const auto* address = AbiCodec::get<Address>(value);
            if (address == nullptr) return misfit(type, value);
            out.insert(out.end(), kWord - Address::kSize, 0);
            out.insert(out.end(), address->data.begin(), address->data.end());
            return {};
        }
        case Kind::kFixedBytes: {
            const auto* bytes = AbiCodec::get<Bytes>(value);
            if (bytes == nullptr || bytes->size() != type.size) return misfit(type, value);
            out.insert(out.end(), bytes->begin(), bytes->end());
            out.insert(out.end(), kWord - bytes->size(), 0);
            return {};
        }
        case Kind::kBytes:
        case Kind::kString: {
            const auto* bytes = AbiCodec::get<Bytes>(value);
            const auto* text = AbiCodec::get<std::string>(value);
            if (type.kind == Kind::kBytes ? bytes == nullptr : text == nullptr)
                return misfit(type, value);
            const ByteView content = type.kind == Kind::kBytes ? ByteView(*bytes) : as_bytes(*text);
            append_word(out, Amount(content.size()));
            out.insert(out.end(), content.begin(), content.end());
            out.insert(out.end(), padded(content.size()) - content.size(), 0);
            return {};
        }
        case Kind::kArray:
        case Kind::kFixedArray:
        case Kind::kTuple:
            return encode_list(out, type, value);
    }
    return misfit(type, value);
}

/// Heads (static values, offsets of dynamic ones), then tails, as the specification lays out a
/// tuple.
Status encode_sequence(Bytes& out, const std::vector<const AbiType*>& types,
                       const AbiValue::List& values) {
    std::size_t heads = 0;
    for (const AbiType* type : types)
        heads += head_size(*type);
    Bytes tails;
    for (std::size_t i = 0; i < types.size(); ++i) {
        if (types[i]->is_dynamic()) {
            append_word(out, Amount(heads + tails.size()));
            GYM_CHECK(encode_value(tails, *types[i], values[i]));
        } else {
            GYM_CHECK(encode_value(out, *types[i], values[i]));
        }
    }
    out.insert(out.end(), tails.begin(), tails.end());
    return {};
}

/// Reads values in the one layout that the encoder writes, so each byte is looked at once.
class Decoder {
  public:
    explicit Decoder(ByteView input) : input_(input) {}
    [[nodiscard]] bool at_end() const { return position_ == input_.size(); }

    Result<AbiValue::List> sequence(const std::vector<const AbiType*>& types) {
        const std::size_t base = position_;
        AbiValue::List values;
        std::vector<std::pair<std::size_t, std::size_t>> tails;  // index of the value, its offset
        for (const AbiType* type : types) {
            if (type->is_dynamic()) {
                GYM_TRY(const std::size_t offset, size_word());
                tails.emplace_back(values.size(), offset);
                values.emplace_back(false);  // replaced when its tail is read
            } else {
                GYM_TRY(AbiValue value, this->value(*type));
                values.push_back(std::move(value));
            }
        }
        for (const auto& [index, offset] : tails) {
            if (base + offset != position_) return malformed("an offset is out of order");
            GYM_TRY(values[index], value(*types[index]));
        }
        return values;
    }

  private:
    Result<ByteView> take(std::size_t size) {
        if (size > input_.size() - position_) return malformed("the data ends too early");
        const ByteView out = input_.subspan(position_, size);
        position_ += size;
        return out;
    }

    Result<Amount> word() {
        GYM_TRY(const ByteView bytes, take(kWord));
        std::array<std::uint8_t, kWord> copy{};
        std::copy(bytes.begin(), bytes.end(), copy.begin());
        return Amount::from_be32(copy);
    }

    /// An offset or a length: never more than the input has bytes, so sums of two cannot wrap.
    Result<std::size_t> size_word() {
        GYM_TRY(const Amount value, word());
        const auto size = value.to_u64();
        if (!size.ok() || *size > input_.size())
            return malformed("an offset or length is too large");
        return static_cast<std::size_t>(*size);
    }

    Result<Bytes> padded_bytes(std::size_t size) {
        GYM_TRY(const ByteView all, take(padded(size)));
        const ByteView padding = all.subspan(size);
        if (std::any_of(padding.begin(), padding.end(), [](std::uint8_t b) { return b != 0; }))
            return malformed("padding is not zero");
        return Bytes(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(size));
    }

    Result<AbiValue> elements(const AbiType& type, std::size_t count) {
        // Every element takes at least a word: a count beyond that is refused before memory is.
        const std::size_t size_min = std::max(kWord, head_size(type.children[0]));
        if (count > (input_.size() - position_) / size_min)
            return malformed("an array is longer than the data");
        const std::vector<const AbiType*> types(count, &type.children[0]);
        GYM_TRY(AbiValue::List items, sequence(types));
        return AbiValue(std::move(items));
    }

    Result<AbiValue> value(const AbiType& type) {
        switch (type.kind) {
            case Kind::kUint: {
                GYM_TRY(const Amount number, word());
                if (!fits(number, type.size))
                    return malformed("a number exceeds " + type.to_string());
                return AbiValue(number);
            }
            case Kind::kBool: {
                GYM_TRY(const Amount number, word());
                if (number > Amount(1)) return malformed("a bool is neither 0 nor 1");
                return AbiValue(!number.is_zero());
            }
            case Kind::kAddress: {
                GYM_TRY(const ByteView bytes, take(kWord));
                const std::size_t lead = kWord - Address::kSize;
                if (std::any_of(bytes.begin(), bytes.begin() + lead, [](auto b) { return b != 0; }))
                    return malformed("an address has more than 20 bytes");
                GYM_TRY(const Address address, Address::from(bytes.subspan(lead)));
                return AbiValue(address);
            }
            case Kind::kFixedBytes: {
                GYM_TRY(Bytes bytes, padded_bytes(type.size));
                return AbiValue(std::move(bytes));
            }
            case Kind::kBytes:
            case Kind::kString: {
                GYM_TRY(const std::size_t size, size_word());
                GYM_TRY(Bytes bytes, padded_bytes(size));
                if (type.kind == Kind::kBytes) return AbiValue(std::move(bytes));
                return AbiValue(std::string(bytes.begin(), bytes.end()));
            }
            case Kind::kArray: {
                GYM_TRY(const std::size_t count, size_word());
                return elements(type, count);
            }
            case Kind::kFixedArray:
                return elements(type, type.size);
            case Kind::kTuple:
                break;
        }
        std::vector<const AbiType*> types;
        for (const AbiType& child : type.children)
            types.push_back(&child);
        GYM_TRY(AbiValue::List items, sequence(types));
        return AbiValue(std::move(items));
    }

    ByteView input_;
    std::size_t position_ = 0;
};

/// Reads as compiled contracts do, wherever offsets lead: what they never look at may be anything.
class CalldataReader {
  public:
    explicit CalldataReader(ByteView input)
        : input_(input), work_left_(kWorkPerByte * input.size() + kWorkPerByte * kWord) {}

    Result<AbiValue::List> sequence(std::size_t base, const std::vector<const AbiType*>& types) {
        AbiValue::List values;
        std::size_t at = base;
        for (const AbiType* type : types) {
            GYM_TRY(AbiValue read, value(*type, type->is_dynamic() ? tail(base, word(at)) : at));
            values.push_back(std::move(read));
            at += head_size(*type);
        }
        return values;
    }

  private:
    using Word = std::array<std::uint8_t, kWord>;
    /// No call of ours needs more; offsets that share a tail could.
    static constexpr std::size_t kWorkPerByte = 16;

    /// Zeros behind the end.
    [[nodiscard]] Word word(std::size_t at) const {
        Word out{};
        for (std::size_t i = 0; i < kWord && at + i < input_.size(); ++i)
            out[i] = input_[at + i];
        return out;
    }
    /// base + offset modulo 2^256; the end of the input where that is outside.
    [[nodiscard]] std::size_t tail(std::size_t base, const Word& offset) const {
        std::uint64_t low = 0;
        for (std::size_t i = kWord - sizeof low; i < kWord; ++i)
            low = low << 8 | offset[i];
        const auto lead = offset.begin() + (kWord - sizeof low);
        const auto all = [&](std::uint8_t byte) {
            return std::all_of(offset.begin(), lead, [&](std::uint8_t b) { return b == byte; });
        };
        if (all(0) && low <= input_.size() - std::min(base, input_.size())) return base + low;
        if (all(0xFF) && ~low < base) return base - (~low + 1);
        return input_.size();
    }
    /// How many items of `unit` bytes the length at `at` promises; none where there is no room.
    [[nodiscard]] std::size_t length(std::size_t at, std::size_t unit) const {
        const std::size_t room = input_.size() - std::min(input_.size(), at + kWord);
        const auto count = Amount::from_be32(word(at)).to_u64();
        return count.ok() && *count <= room / unit ? static_cast<std::size_t>(*count) : 0;
    }
    Status charge(std::size_t bytes) {
        if (bytes > work_left_) return malformed("its parts share too much");
        work_left_ -= bytes;
        return {};
    }
    Result<Bytes> content(std::size_t at, std::size_t size) {
        GYM_CHECK(charge(size));
        Bytes out(size);
        for (std::size_t i = 0; i < size && at + i < input_.size(); ++i)
            out[i] = input_[at + i];
        return out;
    }

    Result<AbiValue> value(const AbiType& type, std::size_t at) {
        GYM_CHECK(charge(kWord));
        Word here = word(at);
        switch (type.kind) {
            case Kind::kUint:
                std::fill(here.begin(), here.end() - static_cast<long>(type.size / 8), 0);
                return AbiValue(Amount::from_be32(here));
            case Kind::kBool:
                return AbiValue(!Amount::from_be32(here).is_zero());
            case Kind::kAddress: {
                GYM_TRY(const Address address, Address::from(ByteView(here).last(Address::kSize)));
                return AbiValue(address);
            }
            case Kind::kFixedBytes:
                return AbiValue(Bytes(here.begin(), here.begin() + static_cast<long>(type.size)));
            case Kind::kBytes:
            case Kind::kString: {
                GYM_TRY(Bytes bytes, content(at + kWord, length(at, 1)));
                if (type.kind == Kind::kBytes) return AbiValue(std::move(bytes));
                return AbiValue(std::string(bytes.begin(), bytes.end()));
            }
            case Kind::kArray:
                return list(at + kWord, std::vector(length(at, head_size(type.children[0])),
                                                    &type.children[0]));
            case Kind::kFixedArray:
                return list(at, std::vector(type.size, &type.children[0]));
            case Kind::kTuple:
                break;
        }
        std::vector<const AbiType*> types;
        for (const AbiType& child : type.children)
            types.push_back(&child);
        return list(at, types);
    }
    Result<AbiValue> list(std::size_t base, const std::vector<const AbiType*>& types) {
        GYM_TRY(AbiValue::List items, sequence(base, types));
        return AbiValue(std::move(items));
    }

    ByteView input_;
    std::size_t work_left_;
};

std::vector<const AbiType*> pointers(const std::vector<AbiType>& types) {
    std::vector<const AbiType*> out;
    out.reserve(types.size());
    for (const AbiType& type : types)
        out.push_back(&type);
    return out;
}

}  // namespace

Result<Bytes> abi_encode(const std::vector<AbiType>& types, const std::vector<AbiValue>& values) {
    if (types.size() != values.size())
        return fail(ErrorCode::kInvalidArgument, "ABI: " + std::to_string(types.size()) +
                                                     " values expected, " +
                                                     std::to_string(values.size()) + " given");
    Bytes out;
    GYM_CHECK(encode_sequence(out, pointers(types), values));
    return out;
}

Result<std::vector<AbiValue>> abi_decode(const std::vector<AbiType>& types, ByteView encoded) {
    Decoder decoder(encoded);
    GYM_TRY(std::vector<AbiValue> values, decoder.sequence(pointers(types)));
    if (!decoder.at_end()) return malformed("data follows the last value");
    return values;
}

Result<std::vector<AbiValue>> abi_read_calldata(const std::vector<AbiType>& types,
                                                ByteView calldata) {
    constexpr std::size_t kSelectorBytes = 4;
    return CalldataReader(calldata).sequence(kSelectorBytes, pointers(types));
}

}  // namespace gym::chain
