packages="openjdk-21-jdk-headless"

# The compiler's own classes as an archive that is mapped instead of loaded: a hello compiles in half the time.
prepare() {
  mkdir -p /usr/lib/drover /tmp/a
  echo 'public class Main { record P(int a) {} public static void main(String[] a) { java.util.List.of(1, 2).stream().map(x -> x + 1).forEach(System.out::println); } }' >/tmp/a/Main.java
  javac -J-XX:+UseSerialGC -J-XX:ArchiveClassesAtExit=/usr/lib/drover/javac.jsa -d /tmp/a /tmp/a/Main.java
}
