/**
 * Has this process find the tests' VA-API driver, before anything loads libavutil, which loads libva's own library of DRM
 * displays. What loads libavutil imports it.
 *
 * @module
 */
import { buildDriver, useDriver } from "./driver.ts";

if (await buildDriver() === undefined) useDriver();
