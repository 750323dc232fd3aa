// What `@jest/globals` is to tests: the functions that jest made for the file which runs now.
export let afterAll;
export let afterEach;
export let beforeAll;
export let beforeEach;
export let describe;
export let expect;
export let it;
export let jest;
export let test;

export function give(globals) {
  ({ afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest, test } = globals);
}
