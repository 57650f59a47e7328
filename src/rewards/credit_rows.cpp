#include "credit_rows.hpp"

#include <type_traits>
#include <utility>
#include <vector>

namespace gym::rewards {
namespace {

/// Names and parameters of an INSERT.
class Insertion {
  public:
    void add(std::string_view column, db::Param value) {
        columns_ += (columns_.empty() ? "" : ", ") + std::string(column);
        values_ += (values_.empty() ? "$" : ", $") + std::to_string(params_.size() + 1);
        params_.push_back(std::move(value));
    }
    Status run(db::Transaction& transaction) const {
        GYM_CHECK(transaction.exec(
            "INSERT INTO rewards.credit (" + columns_ + ") VALUES (" + values_ + ")", params_));
        return {};
    }

  private:
    std::string columns_, values_;
    std::vector<db::Param> params_;
};

}  // namespace

Status insert_credit(db::Transaction& transaction, const Receipt& receipt, bool due) {
    Insertion insertion;
    const auto add = [&](const auto& field, const auto& value) {
        using Value = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, CreditInputs>)
            insertion.add(field.column, to_string(kind_of(value)));
        else if constexpr (std::is_same_v<Value, CreditState>)
            insertion.add(field.column, to_string(value));
        else
            insertion.add(field.column, value);
    };
    for_each_value(kCreditFields, receipt, add);
    for_each_value(kBookingFields, receipt, add);
    // The columns of other kinds have a default of 0.
    for_each_input(receipt.credit.inputs, [&](const auto& field, const auto* value) {
        if (value) insertion.add(field.name, *value);
    });
    insertion.add("due", due);
    return insertion.run(transaction);
}

const std::string& receipt_select() {
    static const std::string select = [] {
        std::string columns;
        const auto add = [&](std::string_view column) {
            columns.append(columns.empty() ? "c." : ", c.").append(column);
        };
        for_each_field(kCreditFields, [&](const auto& field) { add(field.column); });
        for_each_field(kInputFields, [&](const auto& field) { add(field.name); });
        for_each_field(kBookingFields, [&](const auto& field) { add(field.column); });
        return "SELECT " + columns + " FROM rewards.credit c ";
    }();
    return select;
}

Result<Receipt> to_receipt(const db::Row& row) {
    Receipt receipt;
    Status status;
    const auto read = [&](const auto& field, auto& out) {
        using Value = std::remove_reference_t<decltype(out)>;
        const auto keep = [&](auto parsed) {
            if (!parsed.ok()) status = parsed.error();
            return parsed.value_or({});
        };
        if constexpr (std::is_same_v<Value, CreditInputs>)
            out = zero_inputs(keep(parse_credit_kind(row.get<std::string>(field.column))));
        else if constexpr (std::is_same_v<Value, CreditState>)
            out = keep(parse_credit_state(row.get<std::string>(field.column)));
        else
            out = row.get<Value>(field.column);
    };
    for_each_value(kCreditFields, receipt, read);
    for_each_value(kBookingFields, receipt, read);
    for_each_input(receipt.credit.inputs, [&](const auto& field, auto* value) {
        if (value) *value = row.get<std::remove_reference_t<decltype(*value)>>(field.name);
    });
    GYM_CHECK(status);
    return receipt;
}

}  // namespace gym::rewards
