// How jest loads tests: by Node itself, so that what they test is loaded once for all the files of a worker, and stays
// compiled. By itself jest loads everything anew for each file, into a realm of its own: a third of all processor time.
const { ModernFakeTimers } = require('@jest/fake-timers');
const { ModuleMocker } = require('jest-mock');
const { default: Runtime } = require('jest-runtime');
const { register } = require('node:module');
const { join } = require('node:path');
const { pathToFileURL } = require('node:url');

// Tells Node what `@jest/globals` is, which by itself refuses to be loaded outside a realm of jest.
register(pathToFileURL(join(__dirname, 'resolve.mjs')));
process.setSourceMapsEnabled(true);

/** Where jest-circus keeps who is told of each test. */
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

  /** The functions for tests are made anew for each file, in the realm of the tests: what is `any(String)` is there. */
  requireInternalModule(path) {
    delete globalThis[EVENT_HANDLERS];
    delete require.cache[path];
    return require(path);
  }

  unstable_shouldLoadAsEsm() {
    return true;
  }

  /** Loads what a test file was compiled to. The file is loaded anew, what it imports is not. */
  async unstable_importModule(path) {
    const { give } = await import('./globals.mjs');
    give({ ...this.#globals, jest: this.#jest() });
    files++;
    await import(`${pathToFileURL(builtPath(path)).href}?file=${files}`);
  }

  /** What a file changed of the realm that all share is undone. */
  teardown() {
    this.#timers?.dispose();
    this.#mocker.restoreAllMocks();
    for (const name of Object.keys(process.env)) if (!(name in this.#environment)) delete process.env[name];
    Object.assign(process.env, this.#environment);
    super.teardown();
  }

  /** The functions of `jest` that tests need. */
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

/** Returns the compiled file of a test: `kit/dist/test/slots.test.js` of `kit/test/slots.test.ts`. */
function builtPath(path) {
  const at = path.lastIndexOf('/test/');
  return `${path.slice(0, at)}/dist${path.slice(at).replace(/\.ts$/, '.js')}`;
}
