// Stops what the suites share.
export default async function teardown(...about) {
  const { default: end } = await import('../../acceptance/dist/src/standing-teardown.js');
  await end(...about);
}
