const { default: Sequencer } = require('@jest/test-sequencer');

/** A sequencer that starts these files first, each named by the end of its path without `.test.ts`, in their order. */
module.exports = (names) =>
  class InOrder extends Sequencer {
    async sort(tests) {
      const all = await super.sort(tests);
      const first = names.flatMap((name) => all.filter(({ path }) => path.endsWith(`/${name}.test.ts`)));
      return [...first, ...all.filter((one) => !first.includes(one))];
    }
  };
