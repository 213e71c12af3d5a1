import { fromFileUrl } from "@std/path";
import type { Library } from "../library.ts";

/** What the lists of CUDA's libraries have in common: `deno task setup test` gets the headers, or a toolkit has them. */
export const cuda = {
  folders: [
    fromFileUrl(new URL("../../../.cuda/nvidia/cu13/include", import.meta.url)),
    "/usr/local/cuda/include",
  ],
} satisfies Partial<Library>;
