// Loaded into each part of a mesh by `--import`: the part ends when the process that started it is gone, however that
// ended, because the channel between them closes then.
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
// The channel alone keeps no process alive.
process.channel?.unref();
