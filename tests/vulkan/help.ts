import { LibraryNotFoundError, NativeCallError } from "@samepage/interop";
import { VulkanContext, vulkanDevices } from "@samepage/interop/vulkan";

/** Why there is no Vulkan here; undefined where there is. It opens the library. */
export function missing(): string | undefined {
  try {
    return vulkanDevices().length === 0 ? "no Vulkan device" : undefined;
  } catch (error) {
    if (error instanceof LibraryNotFoundError || error instanceof NativeCallError) return error.message;
    throw error;
  }
}

/** A test that needs a Vulkan device; `lacks` is what else it needs that is not here. */
export function test(name: string, fn: (vulkan: VulkanContext) => unknown, lacks?: string): void {
  const reason = missing() ?? lacks;
  Deno.test({
    name: `vulkan: ${name}${reason === undefined ? "" : ` (not here: ${reason})`}`,
    ignore: reason !== undefined,
    async fn() {
      using vulkan = VulkanContext.open();
      await fn(vulkan);
    },
  });
}

/** What a test lacks on a device that has something else than it needs; undefined without a device. */
export function unless(fits: (vulkan: VulkanContext) => boolean, what: string): string | undefined {
  if (missing() !== undefined) return undefined;
  using vulkan = VulkanContext.open();
  return fits(vulkan) ? undefined : what;
}

/** A shader of `tests/vulkan/shaders`. */
export function shader(name: string): Uint8Array<ArrayBuffer> {
  return Deno.readFileSync(new URL(`shaders/${name}.spv`, import.meta.url));
}
