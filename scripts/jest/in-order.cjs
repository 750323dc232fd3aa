const { default: Sequencer } = require('@jest/test-sequencer');

/**
 * Creates a sequencer that starts the named files first, in the given order. A name is the end of a path without
 * `.test.ts`.
 */
module.exports = (names) =>
  class InOrder extends Sequencer {
    async sort(tests) {
      const all = await super.sort(tests);
      const first = names.flatMap((name) => all.filter(({ path }) => path.endsWith(`/${name}.test.ts`)));
      return [...first, ...all.filter((one) => !first.includes(one))];
    }
  };
