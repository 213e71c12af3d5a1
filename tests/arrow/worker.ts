// A Worker that describes a tensor for a consumer on the main thread.
import { host } from "@samepage/interop";
import { toArrow } from "@samepage/interop/arrow";

const scope = globalThis as unknown as { postMessage(message: unknown): void };
const tensor = host.allocate({ shape: [4], dtype: "f32" });
const arrow = toArrow(tensor);
scope.postMessage(arrow.array);
setInterval(() => arrow, 1000); // it stays until it is terminated
