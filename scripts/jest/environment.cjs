// Jest's Node environment with timeouts that are multiplied on a busy machine. `.ci/run` sets the factor
// COMMONPLACE_TEST_PATIENCE; without it, tests have exactly the timeouts that they set.
const { TestEnvironment } = require('jest-environment-node');

const patience = Number(process.env.COMMONPLACE_TEST_PATIENCE ?? 1);

module.exports = class PatientEnvironment extends TestEnvironment {
  handleTestEvent({ name }, state) {
    if (name === 'run_start') state.testTimeout *= patience;
    if (name === 'run_start') lengthen(state.rootDescribeBlock);
  }
};

function lengthen({ children, hooks }) {
  for (const hook of hooks) if (hook.timeout !== undefined) hook.timeout *= patience;
  for (const child of children) {
    if (child.type === 'describeBlock') lengthen(child);
    else if (child.timeout !== undefined) child.timeout *= patience;
  }
}
