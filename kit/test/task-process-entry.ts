/** The child process of `process.test.ts`: it echoes, exits, or does not answer. */
type Task = { readonly say: Uint8Array } | { readonly exit: number } | { readonly wait: true };

const about = JSON.parse(process.argv[2] ?? '') as { name: string };
/** Returns the names of inherited variables but for the one that Node.js passes on itself while it records coverage. */
const inherited = () => Object.keys(process.env).filter((name) => name !== 'NODE_V8_COVERAGE');

process.on('message', (task: Task) => {
  if ('exit' in task) process.exit(task.exit);
  if ('say' in task) process.send?.({ name: about.name, said: task.say, secrets: inherited() });
});
