/**
 * Has this process find the tests' VA-API driver, before anything loads libavutil, which loads libva's own library of DRM
 * displays. What loads libavutil imports it.
 *
 * @module
 */
import { buildDriver, useDriver } from "./driver.ts";

const mayBuild = (await Promise.all((["run", "write"] as const).map((name) => Deno.permissions.query({ name }))))
  .every(({ state }) => state === "granted");
if (mayBuild) await buildDriver();
try {
  useDriver();
} catch {
  // Nobody has built it: tests that need it say so.
}
