const inOrder = require('./in-order.cjs');
const seconds = require('./seconds.json');

/**
 * Order of test files: the longest start first, so that no worker is left alone with one at the end. Their seconds are
 * listed, because a new machine has no recorded durations; `npm test -- --record` writes the list.
 */
module.exports = inOrder(Object.keys(seconds).sort((a, b) => seconds[b] - seconds[a]));
