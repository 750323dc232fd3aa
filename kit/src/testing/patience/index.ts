/** Factor by which tests wait longer than usual; `.ci/run` sets it for busy machines. */
export const PATIENCE = Number(process.env.COMMONPLACE_TEST_PATIENCE ?? 1);
