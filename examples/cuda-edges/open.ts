import { InteropError } from "@samepage/interop";

/** What opens, or why it does not. */
export function openOr<C>(open: () => C): C | InteropError {
  try {
    return open();
  } catch (error) {
    if (error instanceof InteropError) return error;
    throw error;
  }
}
