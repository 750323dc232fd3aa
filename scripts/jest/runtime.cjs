// Makes jest load tests with Node's own loader, so that modules under test are loaded once for all files of a worker
// and stay compiled. Jest's own runtime loads everything again for each file in a separate realm, which takes a third
// of all processor time.
const { ModernFakeTimers } = require('@jest/fake-timers');
const { ModuleMocker } = require('jest-mock');
const { default: Runtime } = require('jest-runtime');
const { register } = require('node:module');
const { join } = require('node:path');
const { pathToFileURL } = require('node:url');
const { takeCoverage } = require('node:v8');

// Redirects `@jest/globals` in Node's loader, because the original module throws outside a realm of jest.
register(pathToFileURL(join(__dirname, 'resolve.mjs')));
process.setSourceMapsEnabled(true);

/** Global property in which jest-circus stores the listeners of test events. */
const EVENT_HANDLERS = Symbol.for('EVENT_HANDLERS');

let files = 0;

module.exports = class NativeRuntime extends Runtime {
  #config;
  #environment = { ...process.env };
  #globals;
  #timers;
  #mocker = new ModuleMocker(globalThis);

  constructor(config, ...rest) {
    super(config, ...rest);
    this.#config = config;
  }

  setGlobalsForRuntime(globals) {
    super.setGlobalsForRuntime(globals);
    this.#globals = globals;
  }

  /**
   * Loads jest's test functions again for each file, in the realm of the tests, so that `any(String)` refers to its
   * `String`.
   */
  requireInternalModule(path) {
    delete globalThis[EVENT_HANDLERS];
    delete require.cache[path];
    return require(path);
  }

  unstable_shouldLoadAsEsm() {
    return true;
  }

  /** Loads the compiled form of a test file. The file is loaded again each time; its imports are not. */
  async unstable_importModule(path) {
    const { give } = await import('./globals.mjs');
    give({ ...this.#globals, jest: this.#jest() });
    files++;
    await import(`${pathToFileURL(builtPath(path)).href}?file=${files}`);
  }

  /** Undoes the changes that a file made to the shared realm. */
  teardown() {
    this.#timers?.dispose();
    this.#mocker.restoreAllMocks();
    for (const name of Object.keys(process.env)) if (!(name in this.#environment)) delete process.env[name];
    Object.assign(process.env, this.#environment);
    // A worker has half a second to end, which is too short to write the coverage of all its files.
    if (process.env.NODE_V8_COVERAGE !== undefined) takeCoverage();
    super.teardown();
  }

  /** Returns the functions of `jest` that tests need. */
  #jest() {
    this.#timers = new ModernFakeTimers({ config: this.#config, global: globalThis });
    const timers = this.#timers;
    return {
      spyOn: (object, method) => this.#mocker.spyOn(object, method),
      useFakeTimers: (options) => timers.useFakeTimers(options),
      useRealTimers: () => timers.useRealTimers(),
      setSystemTime: (now) => timers.setSystemTime(now),
    };
  }
};

/** Returns the compiled file of a test: `kit/dist/test/slots.test.js` for `kit/test/slots.test.ts`. */
function builtPath(path) {
  const at = path.lastIndexOf('/test/');
  return `${path.slice(0, at)}/dist${path.slice(at).replace(/\.ts$/, '.js')}`;
}
