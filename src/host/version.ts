import { libc } from "../core/native/libc.ts";
import { textAt } from "../core/native/text.ts";

export function libcVersion(): string {
  return textAt(libc().gnu_get_libc_version())!;
}
