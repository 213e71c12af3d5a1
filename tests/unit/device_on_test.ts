import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { Checks } from "../../src/core/checks.ts";
import type { DeviceId } from "../../src/core/device/device_id.ts";
import { contextOn, devicesOn } from "../../src/core/device/device_on.ts";
import { ArgumentError, DisposedError } from "../../src/core/errors.ts";
import { Resource } from "../../src/core/life/resource.ts";
import { host } from "../../src/host/context.ts";
import { fakeContext } from "./fakes.ts";

const checks = new Checks("test");
const other = (id: DeviceId) => ({ ...fakeContext("other"), name: "a card", id });
const pick = (on: DeviceId, ids: readonly DeviceId[]) =>
  devicesOn(checks, other(on), ids.map((id, i) => ({ id, name: `device ${i}` })), (one) => one).map(({ name }) => name);

Deno.test("devicesOn() picks by UUID, PCI address or render node, whichever both sides report", () => {
  const ids = [{ uuid: "a", pci: "1" }, { pci: "2" }, { node: "n" }, {}, { uuid: "a" }];
  assertEquals(pick({ uuid: "a" }, ids), ["device 0", "device 4"]);
  assertEquals(pick({ uuid: "b", pci: "2" }, ids), ["device 1"]);
  assertEquals(pick({ node: "n" }, ids), ["device 2"]);
  assertEquals(pick({ uuid: "b", pci: "1" }, [{ uuid: "a", pci: "1" }, { uuid: "b", pci: "1" }]), ["device 1"]);
});

Deno.test("devicesOn() refuses devices that have no id in common, and says what both sides report", () => {
  const error = assertThrows(() => pick({ uuid: "a" }, [{ pci: "1", node: "n" }, {}]), ArgumentError);
  assertEquals(error.argument, "on");
  assertEquals(
    error.message.split("\n")[0].startsWith(
      "on: no device here is known to be a card (other), which reports UUID a: device 0 reports PCI address 1, " +
        "render node n; device 1 reports no UUID, PCI address or render node.",
    ),
    true,
    error.message,
  );
  assertThrows(() => pick({}, [{}]), ArgumentError, "which reports no UUID, PCI address or render node");
  assertThrows(() => pick({ uuid: "a" }, []), ArgumentError, "there is no device.");
});

Deno.test("contextOn() takes a live context, and nothing else", () => {
  assertStrictEquals(contextOn(checks, host), host);
  for (const wrong of [null, 1, "vulkan", {}, { id: "a" }]) {
    assertThrows(() => contextOn(checks, wrong), ArgumentError, "on: expected an open context, got");
  }
  const resource = new Resource({ name: "a context" });
  const ended = { ...other({}), resource };
  resource.dispose();
  assertThrows(() => contextOn(checks, ended), DisposedError);
});
