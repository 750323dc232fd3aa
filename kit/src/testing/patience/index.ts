/** How many times as long as usual tests wait: `.ci/run` is patient with a busy machine. */
export const PATIENCE = Number(process.env.COMMONPLACE_TEST_PATIENCE ?? 1);
