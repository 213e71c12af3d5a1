/** Whether C++ stores a number or an enum with a sign, as a constant expression: an enum as its underlying type is. */
export function isSigned(type: string): string {
  const number =
    `std::conditional<std::is_enum<${type}>::value, std::underlying_type<${type}>, std::remove_cv<${type}>>`;
  return `std::is_signed<${number}::type::type>::value`;
}
