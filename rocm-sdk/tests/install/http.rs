//! A web server for one archive, which can stop in the middle of a file.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Shared by its threads.
struct Shared {
    folder: PathBuf,
    /// The file in whose middle it stops.
    fragile: String,
    breaks: AtomicBool,
    /// The start offsets of the requests for that file.
    asked: Mutex<Vec<u64>>,
}

/// The server; its threads end with the process.
pub struct Server {
    shared: Arc<Shared>,
    port: u16,
}

impl Server {
    /// Serves the files in `folder`, but only half of the one named `fragile` until [`mend`](Self::mend).
    pub fn new(folder: PathBuf, fragile: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Shared { folder, fragile: fragile.into(), breaks: AtomicBool::new(true), asked: Mutex::default() };
        let shared = Arc::new(shared);
        let ours = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&ours);
                // A client that disconnects is not an error.
                std::thread::spawn(move || drop(shared.answer(stream)));
            }
        });
        Self { shared, port }
    }

    pub fn uri(&self) -> String {
        format!("http://127.0.0.1:{}/debian", self.port)
    }

    pub fn mend(&self) {
        self.shared.breaks.store(false, Ordering::SeqCst);
    }

    /// Returns the start offsets of the requests for the fragile file, in order.
    pub fn asked(&self) -> Vec<u64> {
        self.shared.asked.lock().unwrap().clone()
    }
}

impl Shared {
    /// Answers one request.
    fn answer(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        let request = lines.next().unwrap_or(Ok(String::new()))?;
        let headers: Vec<String> = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
        let start = headers.iter().find_map(|line| line.strip_prefix("Range: bytes=")?.strip_suffix('-')?.parse().ok());
        let path = request.split(' ').nth(1).and_then(|path| path.strip_prefix("/debian/")).unwrap_or("none");
        // apt encodes these characters of a file's name in a URI.
        let path = path.replace("%7e", "~").replace("%2b", "+").replace("%3a", ":");
        let Ok(mut file) = File::open(self.folder.join(&path)) else {
            return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        };
        let size = file.metadata()?.len();
        let fragile = path.rsplit('/').next() == Some(&self.fragile);
        if fragile {
            self.asked.lock().unwrap().push(start.unwrap_or(0));
        }
        // The files have the date of their archive.
        let common = "Last-Modified: Sat, 01 Jan 2022 00:00:00 GMT\r\nAccept-Ranges: bytes\r\nConnection: close\r\n";
        match start {
            Some(start) => write!(
                stream,
                "HTTP/1.1 206 Partial Content\r\n{common}Content-Length: {}\r\nContent-Range: bytes {start}-{}/{size}\r\n\r\n",
                size.saturating_sub(start),
                size - 1
            )?,
            None => write!(stream, "HTTP/1.1 200 OK\r\n{common}Content-Length: {size}\r\n\r\n")?,
        }
        let start = start.unwrap_or(0);
        file.seek(SeekFrom::Start(start))?;
        let half = if fragile && self.breaks.load(Ordering::SeqCst) { (size / 2).saturating_sub(start) } else { size };
        std::io::copy(&mut file.take(half), &mut stream)?;
        stream.flush()
    }
}
