const GLOBALS = new URL('globals.mjs', import.meta.url).href;

export function resolve(specifier, context, next) {
  return specifier === '@jest/globals' ? { url: GLOBALS, shortCircuit: true } : next(specifier, context);
}
